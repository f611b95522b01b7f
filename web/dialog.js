// SPDX-License-Identifier: Apache-2.0
// An action: what it would do is shown and confirmed, then its result is shown. An answer that never came is told
// as unknown, and the very same request can be sent again: its ids make that safe.

import { Refusal, request } from "./api.js";
import { h, say } from "./dom.js";
import { number } from "./format.js";

function fieldOf({ name, label, type = "text", value = "", ...rest }) {
  const id = `field-${name}`;
  const input = type === "checkbox" ? h("input", { id, name, type, checked: Boolean(value) })
    : h("input", { id, name, type, value, autocomplete: "off", required: rest.required ?? true,
      min: rest.min, max: rest.max, step: type === "number" ? 1 : null });
  const wrap = h("p", { className: `field ${type}` }, h("label", { for: id }, label), input);
  return { name, input, wrap, read: () => (type === "checkbox" ? input.checked
    : type === "number" ? Number(input.value) : input.value) };
}

function written(value) {
  return typeof value === "number" ? number(value) : typeof value === "object" ? JSON.stringify(value)
    : String(value);
}

function resultList(reply) {
  const entries = Array.isArray(reply) ? [["answered", reply.length]] : Object.entries(reply);
  return h("dl", { className: "facts" }, entries.map(([name, value]) => [
    h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, written(value))]));
}

/** action: {title, warning, fields, request(values) -> {method, path, body}, done(reply, values)}. after(): it was
 * carried out, or may have been. */
export function perform(action, after = () => {}) {
  const fields = (action.fields ?? []).map(fieldOf);
  const status = h("div", { className: "result", role: "status" });
  const confirm = h("button", { type: "submit", className: "primary" }, action.verb ?? action.title);
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = h("form", {}, fields.map(({ wrap }) => wrap), h("p", { className: "buttons" }, cancel, confirm));
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
    h("h2", { id: "dialog-title" }, action.title), h("p", {}, action.warning), form, status);
  let asked = null; // kept, so that a repetition is the same request to the letter

  function finish(message, className, more) {
    status.replaceChildren(h("p", { className }, message), ...more);
    say(cancel, "Close");
  }

  async function submit(event) {
    event.preventDefault();
    const values = Object.fromEntries(fields.map(({ name, read }) => [name, read()]));
    asked ??= action.request(values);
    confirm.disabled = true;
    say(status, "Asking the server …");
    try {
      const reply = await request(asked.method, asked.path, asked.body);
      finish(action.done?.(reply, values) ?? "Done.", "good", [resultList(reply)]);
      confirm.remove();
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) {
        throw refusal;
      }
      if (refusal.isUnknown) {
        finish(`It is not known whether this happened: ${refusal.message}. Asking again is safe.`, "bad", []);
        say(confirm, "Ask again");
      } else {
        finish(`Refused: ${refusal.message} (${refusal.code}). Nothing was changed.`, "bad", []);
        asked = null;
      }
      confirm.disabled = false;
    }
    after();
  }

  form.addEventListener("submit", submit);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** A button for an action; null for those who may not. `make` gives the action as things are then. */
export function actionButton(context, text, make, after) {
  return context.me.role === "admin"
    ? h("button", { type: "button", onclick: () => perform(make(), after) }, text) : null;
}
