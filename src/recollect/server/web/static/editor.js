// The form that creates or changes a note.

import { Problem, get, mayWrite, request, stats } from "./api.js";
import { announce, fill, h, problemBox } from "./dom.js";
import { noteName } from "./format.js";
import { url } from "./router.js";

/** Unsaved form data by the id of the note; the id of a new note is empty. */
const drafts = new Map();

const EMPTY_NOTE = { title: "", content: "", tags: [], path: "", summary: "", importance: 0.5, session: "", position: null, expires_at: null };

/** Show an empty form. */
export function newView(main) {
  return withWriteAccess(main, async () => form(main, null, EMPTY_NOTE));
}

/** Show the form of an existing note. */
export async function editView(main, { rest: [id] }) {
  return withWriteAccess(main, async () => {
    const note = await get(`/v1/notes/${encodeURIComponent(id)}`);
    return form(main, note, note);
  });
}

/** Call `show` if the key may write; otherwise show a problem. */
async function withWriteAccess(main, show) {
  try {
    if (await mayWrite()) return await show();
    throw new Problem(403, "This key may read notes, but not write them.");
  } catch (problem) {
    fill(main, problemBox(problem, undefined, "h1"));
  }
}

function form(main, note, values) {
  const notices = h("div", { class: "notices" });
  const field = (name, label, control, hint) => h("p", {}, h("label", { for: `note-${name}` }, label), control, hint ? h("small", { id: `hint-${name}` }, hint) : null);
  const input = (name, options = {}) => h("input", { id: `note-${name}`, name, autocomplete: "off", "aria-describedby": `hint-${name}`, ...options });
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  // While saving, submit() does nothing. The button is not disabled, since it would lose the focus.
  let isSaving = false;
  let isSaved = false;
  const content = h("textarea", { id: "note-content", name: "content", rows: 10, required: true });
  content.defaultValue = values.content;
  const draftId = note?.id ?? "";
  const element = h(
    "form",
    { class: "editor", onsubmit: submit, onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.requestSubmit() },
    h("h1", {}, note ? `Edit “${noteName(note)}”` : "New note"),
    notices,
    field("title", "Title", h("input", { id: "note-title", name: "title", value: values.title, autocomplete: "off" })),
    field("content", "Text", content),
    field("tags", "Tags", input("tags", { value: values.tags.join(", ") }), "Tags to filter by, separated by commas."),
    h(
      "details",
      {},
      h("summary", {}, "More"),
      field("path", "Path", input("path", { value: values.path }), "A unique path, such as memory/tea.md."),
      field("summary", "Summary", h("input", { id: "note-summary", name: "summary", value: values.summary, autocomplete: "off" })),
      field("importance", "Importance", input("importance", { type: "number", min: 0, max: 1, step: "any", value: values.importance }), "From 0 to 1. Used by the presets memini and weighted-graph; the default preset does not use it."),
      field("session", "Session", input("session", { value: values.session }), "The conversation or document that the note belongs to."),
      field("position", "Position", input("position", { type: "number", min: 0, step: 1, value: values.position ?? "" }), "Its position in the session, from 0."),
      field("expires_at", "Expires", input("expires_at", { value: values.expires_at ?? "", placeholder: "2026-12-31" }), "A date; empty if the note does not expire."),
    ),
    h("p", { class: "actions" }, save, h("a", { class: "button", href: note ? url("note", [note.id]) : url("search"), onclick: () => element.reset() }, "Cancel"), h("small", {}, "Ctrl + Enter saves")),
  );

  const initial = new FormData(element);

  async function submit(event) {
    event.preventDefault();
    if (isSaving) return;
    isSaving = true;
    try {
      const fields = changes(element, initial);
      if (note) await checkUnchanged(values);
      if (!note && fields.path && (await isTaken(fields.path))) throw new Problem(409, `There is already a note at ${fields.path}. Edit that note, or choose another path.`);
      const response = note
        ? await request("PATCH", `/v1/notes/${encodeURIComponent(note.id)}`, { body: fields })
        : await request("POST", "/v1/notes", { body: fields });
      isSaved = true;
      stats.clear();
      announce("saved");
      location.hash = url("note", [response.data.id]);
    } catch (problem) {
      fill(notices, problemBox(problem));
      notices.scrollIntoView({ block: "nearest" });
    } finally {
      isSaving = false;
    }
  }

  const isUnsaved = () => !isSaved && Object.keys(changes(element, initial)).length > 0;
  const warnIfUnsaved = (event) => {
    if (isUnsaved()) event.preventDefault();
  };
  fill(main, element);
  if (drafts.has(draftId)) {
    restore(element, drafts.get(draftId));
    drafts.delete(draftId);
    fill(notices, h("p", { class: "notice" }, "This draft was not saved. Cancel discards it."));
  }
  element.elements.title.focus();
  window.addEventListener("beforeunload", warnIfUnsaved);
  return () => {
    window.removeEventListener("beforeunload", warnIfUnsaved);
    if (isUnsaved()) drafts.set(draftId, new FormData(element));
  };
}

function restore(element, values) {
  for (const [name, value] of values) element.elements[name].value = value;
}

/** Throw a problem if the note was changed since the form was shown; the next attempt to save succeeds. */
async function checkUnchanged(values) {
  const stored = await get(`/v1/notes/${encodeURIComponent(values.id)}`);
  if (stored.updated_at === values.updated_at) return;
  values.updated_at = stored.updated_at;
  throw new Problem(409, "The note was changed elsewhere meanwhile. Look at it in another tab, or save again: only the fields that you changed here are replaced.");
}

/** Return whether a note has this path; adding a note with the same path would change that note. */
async function isTaken(path) {
  let cursor = null;
  do {
    const page = await get("/v1/notes", { parameters: { path_prefix: path, limit: 100, cursor } });
    if (page.notes.some((other) => other.path === path)) return true;
    cursor = page.next_cursor;
  } while (cursor);
  return false;
}

/** Parsers of the texts of fields; the text of other fields is sent as it is. */
const PARSERS = {
  tags: (text) => text.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean),
  path: (text) => text.trim(),
  importance: (text) => (text === "" ? 0.5 : Number(text)),
  session: (text) => text.trim(),
  position: (text) => (text === "" ? null : Number(text)),
  expires_at: (text) => text.trim() || "never",
};

/** Return the parsed values of the fields whose text was changed. */
function changes(element, initial) {
  const changed = [...new FormData(element)].filter(([name, text]) => text !== initial.get(name));
  return Object.fromEntries(changed.map(([name, text]) => [name, name in PARSERS ? PARSERS[name](text) : text]));
}
