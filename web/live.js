// SPDX-License-Identifier: Apache-2.0
// The one stream of a page: the server's figures once a second. EventSource cannot say who is asking, so the
// stream is read by fetch. It ends while the page is hidden, and comes back by itself when it breaks.

import { headers, request } from "./api.js";

const SILENT_MS = 10_000; // figures come every second: a stream that is silent for so long is dead
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

/** The data of whole events in a text, and the rest of it. */
export function split(text) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  const events = blocks.map((block) => Object.fromEntries(block.split("\n").map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  })));
  return { events: events.filter((event) => event.data !== undefined), rest };
}

export class Live {
  #figures;
  #state;
  #abort = null;
  #pause = FIRST_PAUSE_MS;
  #timer;
  #watchdog;

  /** figures(object) for each event; state("live" | "reconnecting" | "paused") when that changes. */
  constructor(figures, state) {
    this.#figures = figures;
    this.#state = state;
    document.addEventListener("visibilitychange", this.#turn);
  }

  start() {
    this.#turn();
  }

  stop() {
    document.removeEventListener("visibilitychange", this.#turn);
    this.#close();
  }

  #turn = () => {
    if (document.hidden) {
      this.#close();
      this.#state("paused");
    } else if (this.#abort === null) {
      this.#open();
    }
  };

  #close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#abort?.abort();
    this.#abort = null;
  }

  #heard() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#abort?.abort(), SILENT_MS);
  }

  async #open() {
    const abort = new AbortController();
    this.#abort = abort;
    clearTimeout(this.#timer);
    try {
      await this.#read(abort.signal);
    } catch {
      // Whatever broke it, the stream is tried again.
    }
    if (this.#abort === abort) { // nobody closed it on purpose
      this.#close();
      this.#state("reconnecting");
      this.#timer = setTimeout(() => this.#open(), this.#pause * (0.75 + Math.random() / 2));
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    }
  }

  async #read(signal) {
    const response = await fetch("/v1/live", { headers: headers(), cache: "no-store", signal });
    if (response.status === 401) {
      await request("GET", "/v1/me"); // which signs out
    }
    if (!response.ok) {
      throw new Error(`status ${response.status}`);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      this.#heard();
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      const { events, rest } = split(text + value);
      text = rest;
      for (const event of events) {
        this.#pause = FIRST_PAUSE_MS;
        this.#state("live");
        this.#figures(JSON.parse(event.data));
      }
    }
  }
}
