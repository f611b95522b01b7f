// SPDX-License-Identifier: Apache-2.0
// Requests to the server. Who is signed in is kept for this tab only.

const KEPT = "holdfast.authorization";

/** A refusal by the server, or, with the code "", no answer at all: then the outcome is not known. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  get isUnknown() {
    return this.code === "" || this.code === "TIMEOUT";
  }
}

let signedOut = () => {};

/** What to do when the server knows us no longer. */
export function onSignedOut(callback) {
  signedOut = callback;
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** By a user's password, or without a user by a token. */
export function signIn(user, secret) {
  sessionStorage.setItem(KEPT, user ? `Basic ${base64(`${user}:${secret}`)}` : `Bearer ${secret}`);
}

export function signOut() {
  sessionStorage.removeItem(KEPT);
}

export function headers() {
  const kept = sessionStorage.getItem(KEPT);
  return kept ? { Authorization: kept } : {};
}

/** path("events", "gala", {count: 50}): each part encoded, what is left out is left out. */
export function path(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given).toString();
  return `/v1/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) {
    return body;
  }
  const { code, message } = body?.error ?? { code: "", message: `status ${response.status}` };
  if (response.status === 401) {
    signedOut(message);
  }
  throw new Refusal(response.status, code, message);
}

export async function request(method, where, body) {
  const given = { method, headers: headers(), cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    given.body = JSON.stringify(body);
    given.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(where, given);
  } catch {
    throw new Refusal(0, "", "the server did not answer");
  }
  return answer(response);
}

export const get = (...parts) => request("GET", path(...parts));

/** The same, null for what is not there. */
export async function find(...parts) {
  try {
    return await get(...parts);
  } catch (refusal) {
    if (refusal.status === 404 || refusal.status === 400) {
      return null;
    }
    throw refusal;
  }
}
