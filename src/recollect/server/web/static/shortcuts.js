// Keyboard shortcuts and the dialog that lists them.

import { mayWrite } from "./api.js";
import { h } from "./dom.js";
import { currentRoute, url } from "./router.js";

const DESCRIPTIONS = [
  ["/", "focus the search field"],
  ["↓ ↑, j k", "next or previous hit"],
  ["Enter", "open the note"],
  ["w", "open or close the waterfall"],
  ["c", "compare presets with this query"],
  ["s", "search with this query"],
  ["n", "write a note"],
  ["e", "edit the note"],
  ["Esc", "clear the field; elsewhere focus it, or close"],
  ["?", "show shortcuts"],
];

/** Register the shortcuts. */
export function registerShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const action = isField(event.target) ? fieldAction(event) : ACTIONS[event.key];
    if (action && action() !== false) event.preventDefault();
  });
}

/** Show the list of shortcuts. */
export function showShortcuts() {
  const dialog = h(
    "dialog",
    { class: "shortcuts", "aria-labelledby": "shortcuts", onclose: () => dialog.remove() },
    h("h2", { id: "shortcuts" }, "Keyboard shortcuts"),
    h("dl", { class: "table" }, DESCRIPTIONS.map(([keys, effect]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, effect)])),
    h("p", { class: "actions" }, h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** What each key does; an action returns false if there is nothing to do, so that the browser handles the key. */
const ACTIONS = {
  "/": focusField,
  Escape: focusField,
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  j: () => move(1),
  k: () => move(-1),
  w: toggleWaterfall,
  c: () => openView("compare"),
  s: () => openView("search"),
  n: newNote,
  e: () => press("[data-edit]"),
  "?": showShortcuts,
};

/** Return the action of a key in a field, where letters are typed and only few keys are shortcuts. */
function fieldAction(event) {
  const leaveField = () => document.getElementById("main").focus({ preventScroll: true });
  if (event.target.type !== "search") return event.key === "Escape" ? leaveField : undefined;
  if (event.key === "ArrowDown") return () => move(1);
  if (event.key === "Escape" && !event.target.value) return leaveField;
  return undefined;
}

function isField(target) {
  return target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

function focusField() {
  const field = document.querySelector("main input[type=search]");
  if (!field) return false;
  field.focus();
  field.select();
}

/** Focus the next (`step` is 1) or previous (-1) item of a list; above the first item is the field. */
function move(step) {
  const items = [...document.querySelectorAll(".hit h2 a, .board button, .listing a")];
  if (!items.length) return false;
  const index = items.indexOf(document.activeElement?.closest(".hit")?.querySelector("h2 a") ?? document.activeElement);
  if (index + step < 0) return focusField();
  items[Math.min(index + step, items.length - 1)].focus();
}

function toggleWaterfall() {
  const hit = document.activeElement?.closest(".hit") ?? document.querySelector(".hit");
  return hit ? hit.querySelector("button.explain").click() : false;
}

/** Open the search or the comparison with the same query, mode and preset. */
function openView(view) {
  const { view: current, query: parameters } = currentRoute();
  const [mode, preset, presets] = ["mode", "preset", "presets"].map((name) => parameters.get(name) ?? "");
  const query = document.getElementById("query")?.value ?? "";
  const comparedPresets = preset ? `${preset},default` : "";
  const presetParameter = view === "compare" ? { presets: comparedPresets } : { preset: presets.split(",")[0] };
  location.hash = url(view, [], { q: query, mode, ...(current === view ? {} : presetParameter) });
}

async function newNote() {
  if (await mayWrite().catch(() => false)) location.hash = url("new");
}

function press(selector) {
  const element = document.querySelector(selector);
  return element ? element.click() : false;
}
