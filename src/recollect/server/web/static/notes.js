// All notes, a page at a time.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { announce, problemBox } from "./notices.js";
import { remember, to } from "./places.js";
import { mayWrite } from "./rights.js";
import { count, day, nameOf, shortened } from "./words.js";

const PAGE = 50;

/** Show the list; what is typed into its field is what paths begin with. */
export function notesView(main, { asked }) {
  const list = h("ul", { class: "listing" });
  const more = h("button", { type: "button", hidden: true, onclick: () => load() }, "More");
  const notices = h("div", { class: "notices" });
  const prefix = h("input", { type: "search", value: asked.get("path") ?? "", placeholder: "memory/", "aria-label": "Paths that begin with", oninput: again });
  const add = h("a", { class: "button primary", href: to("new"), hidden: true }, "New note");
  let cursor = null;
  let turn = 0;
  let shown = 0;

  function again() {
    remember("notes", { path: prefix.value });
    cursor = null;
    shown = 0;
    load();
  }

  function retry() {
    prefix.focus();
    load();
  }

  async function load() {
    const mine = ++turn;
    try {
      const page = await get("/v1/notes", { parameters: { limit: PAGE, cursor, path_prefix: prefix.value } });
      if (mine !== turn) return;
      if (!shown) fill(list);
      shown += page.notes.length;
      cursor = page.next_cursor;
      const entries = page.notes.map(entry);
      list.append(...entries);
      if (document.activeElement === more) entries[0]?.querySelector("a").focus();
      more.hidden = !cursor;
      fill(notices, shown ? null : h("div", { class: "empty" }, h("h2", {}, "No notes here"), h("p", {}, prefix.value ? "No path begins so." : "Write the first one.")));
      announce(`${count(shown, "note")} shown`);
    } catch (problem) {
      if (mine === turn) fill(notices, problemBox(problem, retry));
    }
  }

  fill(main, h("h1", {}, "Notes"), h("form", { class: "asking", onsubmit: (event) => event.preventDefault() }, prefix, add), notices, list, more);
  mayWrite().then((writes) => (add.hidden = !writes), () => {});
  load();
  return () => (turn += 1);
}

function entry(note) {
  const told = note.summary || note.content.replace(/\s+/g, " ");
  return h(
    "li",
    {},
    h("a", { href: to("note", [note.id]) }, nameOf(note)),
    note.path && note.path !== nameOf(note) ? h("span", { class: "path" }, note.path) : null,
    note.created_at ? h("time", { datetime: note.created_at }, day(note.created_at)) : null,
    h("p", {}, shortened(told, 160)),
  );
}
