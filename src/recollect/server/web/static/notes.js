// The view of the list of notes, and the view of one note with its neighbours.

import { get, mayWrite, request, stats } from "./api.js";
import { announce, emptyBox, fill, h, problemBox } from "./dom.js";
import { count, day, minute, noteName, truncate } from "./format.js";
import { MAX_NEIGHBOURS, graph } from "./graph.js";
import { replaceQuery, url } from "./router.js";

const PAGE_SIZE = 50;

/** Show the list; the field filters by path prefix. The returned function is called when the view is left. */
export function notesView(main, { query }) {
  const list = h("ul", { class: "listing" });
  const more = h("button", { type: "button", hidden: true, onclick: () => load() }, "More");
  const notices = h("div", { class: "notices" });
  const prefix = h("input", { type: "search", value: query.get("path") ?? "", placeholder: "memory/", "aria-label": "Path prefix", oninput: reload });
  const add = h("a", { class: "button primary", href: url("new"), hidden: true }, "New note");
  let cursor = null;
  let loadCount = 0;
  let shownCount = 0;

  function reload() {
    replaceQuery("notes", { path: prefix.value });
    cursor = null;
    shownCount = 0;
    load();
  }

  function retry() {
    prefix.focus();
    load();
  }

  async function load() {
    const loadNumber = ++loadCount;
    try {
      const page = await get("/v1/notes", { parameters: { limit: PAGE_SIZE, cursor, path_prefix: prefix.value } });
      if (loadNumber !== loadCount) return; // a later load has started, or the view was left
      if (!shownCount) fill(list);
      shownCount += page.notes.length;
      cursor = page.next_cursor;
      const entries = page.notes.map(listEntry);
      list.append(...entries);
      if (document.activeElement === more) entries[0]?.querySelector("a").focus();
      more.hidden = !cursor;
      fill(notices, shownCount ? null : emptyBox("No notes here", h("p", {}, prefix.value ? "No path begins with this prefix." : "Write the first note.")));
      announce(`${count(shownCount, "note")} shown`);
    } catch (problem) {
      if (loadNumber === loadCount) fill(notices, problemBox(problem, retry));
    }
  }

  fill(main, h("h1", {}, "Notes"), h("form", { class: "search-form", onsubmit: (event) => event.preventDefault() }, prefix, add), notices, list, more);
  mayWrite().then((canWrite) => (add.hidden = !canWrite), () => {});
  load();
  return () => (loadCount += 1);
}

function listEntry(note) {
  const text = note.summary || note.content.replace(/\s+/g, " ");
  return h(
    "li",
    {},
    h("a", { href: url("note", [note.id]) }, noteName(note)),
    note.path && note.path !== noteName(note) ? h("span", { class: "path" }, note.path) : null,
    note.created_at ? h("time", { datetime: note.created_at }, day(note.created_at)) : null,
    h("p", {}, truncate(text, 160)),
  );
}

/** Show the note with this id. */
export async function noteView(main, { rest: [id] }) {
  const path = encodeURIComponent(id);
  try {
    const [note, { neighbours }, canWrite] = await Promise.all([get(`/v1/notes/${path}`), get(`/v1/neighbours/${path}`), mayWrite()]);
    if (main.isConnected) document.title = `${noteName(note)} · Recollect`;
    fill(main, article(note, neighbours, canWrite));
  } catch (problem) {
    fill(main, problemBox(problem, problem.status === 404 ? undefined : () => noteView(main, { rest: [id] }), "h1"));
  }
}

function article(note, neighbours, canWrite) {
  const edit = h("a", { class: "button", href: url("edit", [note.id]), "data-edit": true }, "Edit");
  const remove = h("button", { type: "button", class: "danger", onclick: () => confirmDelete(note) }, "Delete");
  return [
    h(
      "article",
      { class: "note" },
      h("header", {}, h("h1", {}, noteName(note)), canWrite ? h("p", { class: "actions" }, edit, remove) : null),
      note.summary ? h("p", { class: "summary" }, note.summary) : null,
      note.tags.length ? h("p", { class: "tags" }, note.tags.map((tag) => h("span", { class: "chip" }, `#${tag}`))) : null,
      h("div", { class: "content" }, note.content),
    ),
    h("section", { class: "related", "aria-labelledby": "related" }, h("h2", { id: "related" }, "Neighbours"), neighbourSection(note, neighbours)),
    h("section", { class: "properties", "aria-labelledby": "properties" }, h("h2", { id: "properties" }, "Properties"), properties(note)),
  ];
}

function neighbourSection(note, neighbours) {
  if (!neighbours.length) return h("p", { class: "muted" }, "This note has no neighbours.");
  return [
    graph(note, neighbours),
    h(
      "details",
      { open: new Set(neighbours.map((neighbour) => neighbour.note.id)).size > MAX_NEIGHBOURS },
      h("summary", {}, `List of ${count(neighbours.length, "connection")}`),
      h(
        "ul",
        { class: "neighbours" },
        neighbours.map(({ kind, direction, note: other }) =>
          h("li", {}, h("span", { class: "kind" }, direction === "in" ? `← ${kind}` : `${kind} →`), " ", h("a", { href: url("note", [other.id]) }, noteName(other))),
        ),
      ),
    ),
  ];
}

function properties(note) {
  const rows = [
    ["Path", note.path],
    ["Created", minute(note.created_at)],
    ["Changed", minute(note.updated_at)],
    ["Last accessed", minute(note.last_accessed_at)],
    ["Expires", minute(note.expires_at)],
    ["Importance", String(note.importance)],
    ["Session", note.session && `${note.session}${note.position === null ? "" : `, position ${note.position}`}`],
    ["Links", note.links.map(({ kind, target }) => `${kind} → ${target}`).join("\n")],
    ["Metadata", Object.keys(note.metadata).length ? JSON.stringify(note.metadata, null, 1) : ""],
    ["Namespace", note.namespace],
    ["Id", note.id],
  ];
  return h("dl", { class: "table" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function confirmDelete(note) {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "delete-title", onclose: () => dialog.remove() },
    h("h2", { id: "delete-title" }, `Delete “${noteName(note)}”?`),
    h("p", {}, "Its text, vectors and links are deleted permanently."),
    h(
      "p",
      { class: "actions" },
      h("button", { type: "button", onclick: () => dialog.close(), autofocus: true }, "Cancel"),
      h("button", { type: "button", class: "danger", onclick: () => deleteNote(note, dialog) }, "Delete"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

async function deleteNote(note, dialog) {
  try {
    await request("DELETE", `/v1/notes/${encodeURIComponent(note.id)}`);
    dialog.close();
    stats.clear();
    announce("deleted");
    location.hash = url("notes");
  } catch (problem) {
    dialog.append(problemBox(problem));
  }
}
