// Write a note, or change one.

import { Problem, ask, get } from "./api.js";
import { fill, h } from "./dom.js";
import { announce, problemBox } from "./notices.js";
import { to } from "./places.js";
import { forget, mayWrite } from "./rights.js";
import { nameOf } from "./words.js";

/** What was typed and not saved when a form was left, by the note's id; empty for a new one. */
const drafts = new Map();

const NOTHING = { title: "", content: "", tags: [], path: "", summary: "", importance: 0.5, session: "", position: null, expires_at: null };

/** Show an empty form. */
export function newView(main) {
  return permitted(main, async () => form(main, null, NOTHING));
}

/** Show the form of a note that there is. */
export async function editView(main, { rest: [id] }) {
  return permitted(main, async () => {
    const note = await get(`/v1/notes/${encodeURIComponent(id)}`);
    return form(main, note, note);
  });
}

/** Who may only read is not let write a text that nobody would take. */
async function permitted(main, show) {
  try {
    if (await mayWrite()) return await show();
    throw new Problem(403, "This key may read notes, but not write them.");
  } catch (problem) {
    fill(main, problemBox(problem, undefined, "h1"));
  }
}

function form(main, note, held) {
  const notices = h("div", { class: "notices" });
  const field = (name, label, control, hint) => h("p", {}, h("label", { for: `note-${name}` }, label), control, hint ? h("small", { id: `hint-${name}` }, hint) : null);
  const input = (name, options = {}) => h("input", { id: `note-${name}`, name, autocomplete: "off", "aria-describedby": `hint-${name}`, ...options });
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  // A button that is disabled for as long loses the focus, so it is only deaf.
  let saving = false;
  let saved = false;
  const content = h("textarea", { id: "note-content", name: "content", rows: 10, required: true });
  content.defaultValue = held.content;
  const draft = note?.id ?? "";
  const element = h(
    "form",
    { class: "editor", onsubmit: submit, onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.requestSubmit() },
    h("h1", {}, note ? `Edit “${nameOf(note)}”` : "A new note"),
    notices,
    field("title", "Title", h("input", { id: "note-title", name: "title", value: held.title, autocomplete: "off" })),
    field("content", "Text", content),
    field("tags", "Tags", input("tags", { value: held.tags.join(", ") }), "Words to filter by, with commas between them."),
    h(
      "details",
      {},
      h("summary", {}, "More"),
      field("path", "Path", input("path", { value: held.path }), "Where it stands, such as memory/tea.md; no two notes share one."),
      field("summary", "Summary", h("input", { id: "note-summary", name: "summary", value: held.summary, autocomplete: "off" })),
      field("importance", "Importance", input("importance", { type: "number", min: 0, max: 1, step: "any", value: held.importance }), "From 0 to 1. Used by the presets memini and weighted-graph; the default preset does not use it."),
      field("session", "Session", input("session", { value: held.session }), "The conversation or document that it belongs to."),
      field("position", "Position", input("position", { type: "number", min: 0, step: 1, value: held.position ?? "" }), "Its place there, from 0."),
      field("expires_at", "Forget it from", input("expires_at", { value: held.expires_at ?? "", placeholder: "2026-12-31" }), "A date; empty keeps it for good."),
    ),
    h("p", { class: "actions" }, save, h("a", { class: "button", href: note ? to("note", [note.id]) : to("search"), onclick: () => element.reset() }, "Cancel"), h("small", {}, "Ctrl + Enter saves")),
  );

  const before = new FormData(element);

  async function submit(event) {
    event.preventDefault();
    if (saving) return;
    saving = true;
    try {
      const fields = changes(element, before);
      if (note) await unchanged(held);
      if (!note && fields.path && (await isTaken(fields.path))) throw new Problem(409, `There is a note at ${fields.path} already. Edit that one, or choose another path.`);
      const answer = note
        ? await ask("PATCH", `/v1/notes/${encodeURIComponent(note.id)}`, { body: fields })
        : await ask("POST", "/v1/notes", { body: fields });
      saved = true;
      forget();
      announce("saved");
      location.hash = to("note", [answer.data.id]);
    } catch (problem) {
      fill(notices, problemBox(problem));
      notices.scrollIntoView({ block: "nearest" });
    } finally {
      saving = false;
    }
  }

  const isUnsaved = () => !saved && Object.keys(changes(element, before)).length > 0;
  const warn = (event) => {
    if (isUnsaved()) event.preventDefault();
  };
  fill(main, element);
  if (drafts.has(draft)) {
    restore(element, drafts.get(draft));
    drafts.delete(draft);
    fill(notices, h("p", { class: "notice" }, "This was typed here before and not saved. Cancel forgets it."));
  }
  element.elements.title.focus();
  window.addEventListener("beforeunload", warn);
  return () => {
    window.removeEventListener("beforeunload", warn);
    if (isUnsaved()) drafts.set(draft, new FormData(element));
  };
}

function restore(element, said) {
  for (const [name, value] of said) element.elements[name].value = value;
}

/** Raise if somebody else changed the note since it was read; who saves again after that means it. */
async function unchanged(held) {
  const now = await get(`/v1/notes/${encodeURIComponent(held.id)}`);
  if (now.updated_at === held.updated_at) return;
  held.updated_at = now.updated_at;
  throw new Problem(409, "The note was changed elsewhere meanwhile. Look at it in another tab, or save again: of what is there, only what you changed here is replaced.");
}

/** The server lets a note take the place of another with its path; a form that says "new" must not. */
async function isTaken(path) {
  let cursor = null;
  do {
    const page = await get("/v1/notes", { parameters: { path_prefix: path, limit: 100, cursor } });
    if (page.notes.some((other) => other.path === path)) return true;
    cursor = page.next_cursor;
  } while (cursor);
  return false;
}

/** What a field's text means. */
const MEANING = {
  tags: (text) => text.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean),
  path: (text) => text.trim(),
  importance: (text) => (text === "" ? 0.5 : Number(text)),
  session: (text) => text.trim(),
  position: (text) => (text === "" ? null : Number(text)),
  expires_at: (text) => text.trim() || "never",
};

/** Return what was changed in the form: a field whose text is as it was says nothing, whatever it would mean. */
function changes(element, before) {
  const changed = [...new FormData(element)].filter(([name, text]) => text !== before.get(name));
  return Object.fromEntries(changed.map(([name, text]) => [name, name in MEANING ? MEANING[name](text) : text]));
}
