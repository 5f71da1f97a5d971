// The entry point of the web UI: shows the view of the URL; key, namespace and theme.

import { key, namespace, stats } from "./api.js";
import { compareView } from "./compare.js";
import { fill, h } from "./dom.js";
import { editView, newView } from "./editor.js";
import { noteView, notesView } from "./notes.js";
import { reportsView } from "./reports.js";
import { currentRoute } from "./router.js";
import { searchView } from "./search.js";
import { registerShortcuts, showShortcuts } from "./shortcuts.js";

/** A view is a function of its container and the route; it may return a function to call when the view is left. */
const VIEWS = {
  search: { title: "Search", view: searchView },
  compare: { title: "Compare", view: compareView },
  notes: { title: "Notes", view: notesView },
  note: { title: "Note", view: noteView },
  new: { title: "New note", view: newView },
  edit: { title: "Edit", view: editView },
  reports: { title: "Reports", view: reportsView },
};
const NOT_FOUND = { title: "Not found", view: notFoundView };
const THEMES = { "": "◐", light: "☀", dark: "☾" }; // the empty name is the system's theme

const main = document.getElementById("main");
let leaveView = () => {};
let showCount = 0;
let keyDialog = null;

/** Show the view of the URL. */
async function show() {
  const showNumber = ++showCount;
  const route = currentRoute();
  const { title, view } = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view] : NOT_FOUND;
  leaveView();
  leaveView = () => {};
  document.title = `${title} · Recollect`;
  for (const link of document.querySelectorAll("[data-view]")) {
    const isCurrent = link.dataset.view === route.view || (link.dataset.view === "notes" && ["note", "new", "edit"].includes(route.view));
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, 0);
  // Each view has its own container, so that late responses of a view that was left are not visible.
  const container = h("div", {});
  fill(main, container);
  const onLeave = await view(container, route);
  if (showNumber === showCount) {
    if (typeof onLeave === "function") leaveView = onLeave;
    ensureFocus();
  } else if (typeof onLeave === "function") onLeave();
}

function notFoundView(container) {
  fill(container, h("div", { class: "empty" }, h("h1", {}, "Not found"), h("p", {}, h("a", { href: "#/search" }, "Go to the search"))));
}

/** Focus the view if the focused element was removed, so that the keyboard works from there. */
function ensureFocus() {
  if (document.activeElement && document.activeElement !== document.body) return;
  main.focus({ preventScroll: true });
}

/** Load everything again after the key or the namespace has changed. */
async function restart() {
  stats.clear();
  leaveView();
  leaveView = () => {};
  fill(main);
  await loadNamespaces();
  await show();
}

/** Fill the list of namespaces that the key may read, and select one. */
async function loadNamespaces() {
  const button = document.getElementById("key");
  button.hidden = !key.get();
  try {
    const data = await stats();
    const select = document.getElementById("namespace");
    const names = Object.keys(data.notes);
    select.closest("label").hidden = names.length < 2;
    const selected = [namespace.get(), "default", ...names].find((name) => names.includes(name));
    fill(select, names.map((name) => h("option", { selected: name === selected }, name)));
    namespace.set(selected ?? "");
  } catch {
    // The view sends a request, too, and shows the problem.
  }
}

/** Switch to the next theme: system, light, dark. */
function switchTheme() {
  const names = Object.keys(THEMES);
  const theme = document.documentElement.dataset.theme ?? "";
  const next = names[(names.indexOf(theme) + 1) % names.length];
  if (next) {
    document.documentElement.dataset.theme = next;
    localStorage.setItem("recollect.theme", next);
  } else {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("recollect.theme");
  }
  updateThemeButton();
  window.dispatchEvent(new CustomEvent("theme-changed"));
}

function updateThemeButton() {
  const theme = document.documentElement.dataset.theme ?? "";
  const button = document.getElementById("theme");
  button.textContent = THEMES[theme];
  button.title = `Theme: ${theme || "system"}`;
  button.setAttribute("aria-label", button.title);
}

/** Ask the user for a key; `error` says why the server rejected the last key. */
function showKeyDialog(error = "") {
  if (keyDialog) return;
  const field = h("input", { id: "key-field", type: "password", autocomplete: "off", required: true, placeholder: "rk_…", value: key.get(), oninput: () => field.setCustomValidity("") });
  const useKey = (value) => {
    key.set(value);
    keyDialog.close();
    restart();
  };
  keyDialog = h(
    "dialog",
    {
      "aria-labelledby": "key-title",
      onclose: () => {
        keyDialog.remove();
        keyDialog = null;
      },
    },
    h(
      "form",
      {
        method: "dialog",
        onsubmit: (event) => {
          event.preventDefault();
          const text = field.value.trim();
          if (/^[\x21-\x7e]+$/.test(text)) return useKey(text);
          field.setCustomValidity("This is not a key: keys begin with rk_ and have no spaces.");
          field.reportValidity();
        },
      },
      h("h2", { id: "key-title" }, "Key required"),
      error ? h("p", { class: "rejected", role: "alert" }, error) : null,
      h("p", {}, h("label", { for: "key-field" }, "A key of this server"), field),
      h("p", { class: "muted" }, "It is stored in this tab only. The operator of the server creates keys with ", h("code", {}, "recollect keys add NAME")),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "submit", class: "primary" }, "Use key"),
        key.get() ? h("button", { type: "button", onclick: () => useKey("") }, "Remove key") : null,
        h("button", { type: "button", onclick: () => keyDialog.close() }, "Cancel"),
      ),
    ),
  );
  document.body.append(keyDialog);
  keyDialog.showModal();
}

window.addEventListener("hashchange", show);
window.addEventListener("key-needed", ({ detail }) => {
  document.getElementById("key").hidden = false;
  showKeyDialog(key.get() ? detail : "");
});
document.getElementById("key").addEventListener("click", () => showKeyDialog());
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help").addEventListener("click", showShortcuts);
document.getElementById("namespace").addEventListener("change", (event) => {
  namespace.set(event.target.value);
  restart();
});
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
registerShortcuts();
updateThemeButton();
await loadNamespaces();
await show();
