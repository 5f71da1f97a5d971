// Everything by the keyboard.

import { h } from "./dom.js";
import { place, to } from "./places.js";
import { mayWrite } from "./rights.js";

const KEYS = [
  ["/", "to the search field"],
  ["↓ ↑, j k", "from hit to hit"],
  ["Enter", "open the note"],
  ["w", "why: open or close the explanation"],
  ["c", "compare presets on this query"],
  ["s", "back to the search with it"],
  ["n", "write a note"],
  ["e", "edit the note that is shown"],
  ["Esc", "empty the field; elsewhere back to it, or close"],
  ["?", "these shortcuts"],
];

/** Listen to keys wherever one is. */
export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const act = writing(event.target) ? inField(event) : ACTIONS[event.key];
    if (act?.() !== false && act) event.preventDefault();
  });
}

/** Show what the keys do. */
export function showShortcuts() {
  const dialog = h(
    "dialog",
    { class: "shortcuts", "aria-labelledby": "shortcuts", onclose: () => dialog.remove() },
    h("h2", { id: "shortcuts" }, "By the keyboard"),
    h("dl", { class: "table" }, KEYS.map(([keys, does]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)])),
    h("p", { class: "actions" }, h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

const ACTIONS = {
  "/": focusField,
  Escape: focusField,
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  j: () => move(1),
  k: () => move(-1),
  w: why,
  c: () => go("compare"),
  s: () => go("search"),
  n: write,
  e: () => press("[data-edit]"),
  "?": showShortcuts,
};

/** In a field, letters are letters. */
function inField(event) {
  const leave = () => document.getElementById("main").focus({ preventScroll: true });
  if (event.target.type !== "search") return event.key === "Escape" ? leave : undefined;
  if (event.key === "ArrowDown") return () => move(1);
  if (event.key === "Escape" && !event.target.value) return leave;
  return undefined;
}

function writing(target) {
  return target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

function focusField() {
  const field = document.querySelector("main input[type=search]");
  if (!field) return false;
  field.focus();
  field.select();
}

/** Go to the next or the last of what can be chosen; above the first is the field. */
function move(by) {
  const all = [...document.querySelectorAll(".hit h2 a, .board button, .listing a")];
  if (!all.length) return false;
  const at = all.indexOf(document.activeElement?.closest(".hit")?.querySelector("h2 a") ?? document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : -1) : at + by;
  if (next < 0) return focusField();
  all[Math.min(next, all.length - 1)].focus();
}

function why() {
  const hit = document.activeElement?.closest(".hit") ?? document.querySelector(".hit");
  return hit ? hit.querySelector("button.explain").click() : false;
}

/** Go on with the same query: in the mode, and from a search with its preset first among those that are compared. */
function go(view) {
  const { asked } = place();
  const [mode, preset, presets] = ["mode", "preset", "presets"].map((name) => asked.get(name) ?? "");
  const query = document.getElementById("query")?.value ?? "";
  const compared = preset ? `${preset},default` : "";
  const more = view === "compare" ? { presets: compared } : { preset: presets.split(",")[0] };
  location.hash = to(view, [], { q: query, mode, ...(place().view === view ? {} : more) });
}

async function write() {
  if (await mayWrite().catch(() => false)) location.hash = to("new");
}

function press(selector) {
  const found = document.querySelector(selector);
  return found ? found.click() : false;
}
