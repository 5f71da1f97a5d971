// The page: the address says which view is shown.

import { key, namespace } from "./api.js";
import { compareView } from "./compare.js";
import { fill, h } from "./dom.js";
import { editView, newView } from "./editor.js";
import { askForKey } from "./keys.js";
import { noteView } from "./note.js";
import { notesView } from "./notes.js";
import { place } from "./places.js";
import { reportsView } from "./reports.js";
import { forget, stats } from "./rights.js";
import { searchView } from "./search.js";
import { listen, showShortcuts } from "./shortcuts.js";

const VIEWS = {
  search: searchView,
  compare: compareView,
  notes: notesView,
  note: noteView,
  new: newView,
  edit: editView,
  reports: reportsView,
};
const TITLES = { search: "Search", compare: "Compare", notes: "Notes", note: "Note", new: "New note", edit: "Edit", reports: "Reports" };
const THEMES = { "": "◐", light: "☀", dark: "☾" };

const main = document.getElementById("main");
let leave = () => {};
let turn = 0;

/** Show what the address says. */
async function show() {
  const mine = ++turn;
  const where = place();
  leave();
  leave = () => {};
  document.title = `${Object.hasOwn(TITLES, where.view) ? TITLES[where.view] : "Nothing"} · Recollect`;
  for (const link of document.querySelectorAll("[data-view]")) {
    const here = link.dataset.view === where.view || (link.dataset.view === "notes" && ["note", "new", "edit"].includes(where.view));
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, 0);
  const view = Object.hasOwn(VIEWS, where.view) ? VIEWS[where.view] : nothingView;
  // Each view draws on a sheet of its own: what comes late for one that was left is drawn where nobody looks.
  const sheet = h("div", {});
  fill(main, sheet);
  const left = await view(sheet, where);
  if (mine === turn) {
    if (typeof left === "function") leave = left;
    keepFocus();
  } else if (typeof left === "function") left();
}

function nothingView(main) {
  fill(main, h("div", { class: "empty" }, h("h1", {}, "Nothing here"), h("p", {}, h("a", { href: "#/search" }, "To the search"))));
}

/** What had the focus may be gone with its view; then the new view has it, so that the keyboard goes on from there. */
function keepFocus() {
  if (document.activeElement && document.activeElement !== document.body) return;
  main.focus({ preventScroll: true });
}

/** Begin anew with another key or namespace: nothing of what was shown stays. */
async function restart() {
  forget();
  leave();
  leave = () => {};
  fill(main);
  await prepare();
  await show();
}

/** Find out which namespaces there are, before anything is asked in one of them. */
async function prepare() {
  const button = document.getElementById("key");
  button.hidden = !key.get();
  try {
    const told = await stats();
    const select = document.getElementById("namespace");
    const names = Object.keys(told.notes);
    select.closest("label").hidden = names.length < 2;
    const current = [namespace.get(), "default", ...names].find((name) => names.includes(name));
    fill(select, names.map((name) => h("option", { selected: name === current }, name)));
    namespace.set(current ?? "");
  } catch {
    // The view says what is wrong.
  }
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const now = document.documentElement.dataset.theme ?? "";
  const next = names[(names.indexOf(now) + 1) % names.length];
  if (next) {
    document.documentElement.dataset.theme = next;
    localStorage.setItem("recollect.theme", next);
  } else {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("recollect.theme");
  }
  nameTheme();
  window.dispatchEvent(new CustomEvent("theme-changed"));
}

function nameTheme() {
  const now = document.documentElement.dataset.theme ?? "";
  const button = document.getElementById("theme");
  button.textContent = THEMES[now];
  button.title = `Colours: ${now || "as the system has them"}`;
  button.setAttribute("aria-label", button.title);
}

window.addEventListener("hashchange", show);
window.addEventListener("key-needed", ({ detail }) => {
  document.getElementById("key").hidden = false;
  askForKey(restart, key.get() ? detail : "");
});
document.getElementById("key").addEventListener("click", () => askForKey(restart));
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("help").addEventListener("click", showShortcuts);
document.getElementById("namespace").addEventListener("change", (event) => {
  namespace.set(event.target.value);
  restart();
});
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
listen();
nameTheme();
await prepare();
await show();
