// SPDX-License-Identifier: Apache-2.0
// The page: signs in, keeps one stream of figures, and shows the view that the address names.

import { get, onSignedOut, signOut } from "./api.js";
import { address, h, say } from "./dom.js";
import { Live } from "./live.js";
import { History } from "./series.js";
import { signInForm } from "./signin.js";
import { event } from "./views/event.js";
import { listOf } from "./views/lists.js";
import { overview } from "./views/overview.js";
import { sales, saga } from "./views/sales.js";
import { product, quota, room, semaphore } from "./views/scopes.js";
import { search } from "./views/search.js";

const MENU = [["overview", "Overview"], ["events", "Events"], ["zones", "Zones"], ["rooms", "Waiting rooms"],
  ["semaphores", "Semaphores"], ["locks", "Locks"], ["quotas", "Quotas"], ["products", "Products"],
  ["sales", "Orders and checkouts"]];
const VIEWS = {
  overview, event, room, semaphore, quota, product, sales, saga, search, events: listOf("events"),
  zones: listOf("zones"), rooms: listOf("rooms"), semaphores: listOf("semaphores"), locks: listOf("locks"),
  quotas: listOf("quotas"), products: listOf("products"),
};
const NEEDS_ID = ["event", "room", "semaphore", "quota", "product", "saga", "search"];
const STATES = { live: "Live", reconnecting: "Reconnecting …", paused: "Paused" };
const REFRESH_EVERY = 2; // figures: a list that is looked at is asked for as often as that

/** The view and the id that the address names; what is not understood is the overview. */
function place() {
  const [, view, id] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(location.hash) ?? [];
  const known = Object.hasOwn(VIEWS, view ?? "") && NEEDS_ID.includes(view) === (id !== undefined);
  try {
    return known ? { view, id: id && decodeURIComponent(id) } : { view: "overview" };
  } catch {
    return { view: "overview" };
  }
}

/** What the user is kept to, as the file of users has it; "" if to nothing. */
function limits(me) {
  return [me.scopes, me.families].filter(Boolean).map((names) => names.join(", ")).join("; ");
}

function app(me) {
  const context = { me, history: new History() };
  const status = h("span", { className: "status", role: "status", "data-state": "reconnecting" }, "Connecting …");
  const links = MENU.map(([view, name]) => h("a", { href: address(view), "data-view": view }, name));
  const main = h("main", { id: "main" });
  const wanted = h("input", { type: "search", id: "search", placeholder: "booking, order, user, checkout",
    autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { role: "search" }, h("label", { for: "search", className: "hidden" }, "Search by id"),
    wanted, h("button", { type: "submit" }, "Search"));
  const who = me.sign_in ? h("span", { className: "who" }, `${me.name}, ${me.role} ${limits(me) && `(${limits(me)}) `}`,
    h("button", { type: "button", onclick: leave }, "Sign out")) : null;
  let shown = null;
  let turns = 0;

  const skip = h("a", { href: "#main", className: "skip", onclick: (happened) => {
    happened.preventDefault();
    main.querySelector("h1")?.focus();
  } }, "Skip to the content");

  function show(asked) {
    const { view, id } = place();
    shown?.leave?.();
    shown = VIEWS[view](context, id);
    main.replaceChildren(shown.element);
    document.title = `${shown.title} · Holdfast`;
    for (const one of links) {
      const here = one.dataset.view === view || one.dataset.view === `${view}s`
        || (view === "saga" && one.dataset.view === "sales");
      one.toggleAttribute("aria-current", false);
      if (here) {
        one.setAttribute("aria-current", "page");
      }
    }
    if (context.history.latest) {
      shown.update?.(context.history.latest);
    }
    shown.refresh?.();
    if (asked) {
      main.querySelector("h1")?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }

  const live = new Live((figures) => {
    context.history.add(figures);
    shown.update?.(figures);
    if (turns++ % REFRESH_EVERY === 0) {
      shown.refresh?.();
    }
  }, (state) => {
    if (state !== "live") {
      context.history.gap();
    }
    status.dataset.state = state;
    say(status, STATES[state]);
  });

  const moved = () => show(true);
  form.addEventListener("submit", (happened) => {
    happened.preventDefault();
    location.hash = address("search", wanted.value.trim());
  });
  addEventListener("hashchange", moved);
  document.body.replaceChildren(skip,
    h("header", {}, h("a", { className: "brand", href: address("overview") }, "Holdfast"), status, form, who),
    h("nav", { className: "menu", "aria-label": "Views" }, links), main);
  show(false);
  live.start();
  return () => {
    removeEventListener("hashchange", moved);
    live.stop();
    shown?.leave?.();
  };
}

let close = null;

function leave(message) {
  signOut();
  close?.();
  close = null;
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  const form = signInForm(typeof message === "string" ? message : "", begin);
  document.body.replaceChildren(form.element);
  document.title = "Sign in · Holdfast";
  form.focus();
}

async function begin() {
  try {
    const me = await get("me");
    close?.();
    close = app(me);
  } catch (refusal) {
    if (refusal.status !== 401) { // which has led to the form already
      document.body.replaceChildren(h("main", { id: "main" }, h("p", { role: "status" },
        `The server cannot be asked: ${refusal.message}. Trying again …`)));
      setTimeout(begin, 2000);
    }
  }
}

const tried = () => sessionStorage.length > 0;
onSignedOut((message) => leave(tried() ? message : ""));
begin();
