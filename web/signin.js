// SPDX-License-Identifier: Apache-2.0
// Who is there? By a user's password, or by a token. The server decides; the tab remembers.

import { signIn } from "./api.js";
import { h } from "./dom.js";

/** done(): somebody wants to be let in with what they gave. */
export function signInForm(message, done) {
  const user = h("input", { id: "user", name: "username", autocomplete: "username", spellcheck: "false",
    autocapitalize: "none" });
  const secret = h("input", { id: "secret", name: "password", type: "password", required: true,
    autocomplete: "current-password" });
  const form = h("form", { className: "signin panel", "aria-labelledby": "signin" },
    h("h1", { id: "signin" }, "Sign in to Holdfast"),
    h("p", { className: message ? "bad" : "note", role: "alert" }, message
      || "Kept for this tab only, and gone when it is closed."),
    h("p", { className: "field" }, h("label", { for: "user" }, "User (none with a token)"), user),
    h("p", { className: "field" }, h("label", { for: "secret" }, "Password or token"), secret),
    h("p", { className: "buttons" }, h("button", { type: "submit", className: "primary" }, "Sign in")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn(user.value.trim(), secret.value.trim());
    done();
  });
  return { element: h("main", { id: "main" }, form), focus: () => user.focus() };
}
