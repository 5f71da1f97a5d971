// One note: what it says, what is known of it, and what lies around it.

import { ask, get } from "./api.js";
import { fill, h } from "./dom.js";
import { graph } from "./graph.js";
import { announce, problemBox } from "./notices.js";
import { to } from "./places.js";
import { forget, mayWrite } from "./rights.js";
import { count, minute, nameOf } from "./words.js";

/** Show the note that the address names. */
export async function noteView(main, { rest: [id] }) {
  const path = encodeURIComponent(id);
  try {
    const [note, { neighbours }, writes] = await Promise.all([get(`/v1/notes/${path}`), get(`/v1/neighbours/${path}`), mayWrite()]);
    if (main.isConnected) document.title = `${nameOf(note)} · Recollect`;
    fill(main, page(note, neighbours, writes));
  } catch (problem) {
    fill(main, problemBox(problem, problem.status === 404 ? undefined : () => noteView(main, { rest: [id] }), "h1"));
  }
}

function page(note, neighbours, writes) {
  const edit = h("a", { class: "button", href: to("edit", [note.id]), "data-edit": true }, "Edit");
  const remove = h("button", { type: "button", class: "danger", onclick: () => confirmed(note) }, "Delete");
  return [
    h(
      "article",
      { class: "note" },
      h("header", {}, h("h1", {}, nameOf(note)), writes ? h("p", { class: "actions" }, edit, remove) : null),
      note.summary ? h("p", { class: "summary" }, note.summary) : null,
      note.tags.length ? h("p", { class: "tags" }, note.tags.map((tag) => h("span", { class: "chip" }, `#${tag}`))) : null,
      h("div", { class: "content" }, note.content),
    ),
    h("section", { class: "around", "aria-labelledby": "around" }, h("h2", { id: "around" }, "What lies around it"), surroundings(note, neighbours)),
    h("section", { class: "known", "aria-labelledby": "known" }, h("h2", { id: "known" }, "What is known of it"), facts(note)),
  ];
}

function surroundings(note, neighbours) {
  if (!neighbours.length) return h("p", { class: "quiet" }, "Nothing is linked with it, and nothing stands beside it.");
  return [
    graph(note, neighbours),
    h(
      "details",
      { open: new Set(neighbours.map((each) => each.note.id)).size > 12 },
      h("summary", {}, `All of it, as a list of ${count(neighbours.length, "connection")}`),
      h(
        "ul",
        { class: "neighbours" },
        neighbours.map(({ kind, direction, note: other }) =>
          h("li", {}, h("span", { class: "kind" }, direction === "in" ? `← ${kind}` : `${kind} →`), " ", h("a", { href: to("note", [other.id]) }, nameOf(other))),
        ),
      ),
    ),
  ];
}

function facts(note) {
  const rows = [
    ["Path", note.path],
    ["Written", minute(note.created_at)],
    ["Changed", minute(note.updated_at)],
    ["Last recalled", minute(note.last_accessed_at)],
    ["Forgotten from", minute(note.expires_at)],
    ["Importance", String(note.importance)],
    ["Session", note.session && `${note.session}${note.position === null ? "" : `, number ${note.position}`}`],
    ["Links", note.links.map(({ kind, target }) => `${kind} → ${target}`).join("\n")],
    ["Metadata", Object.keys(note.metadata).length ? JSON.stringify(note.metadata, null, 1) : ""],
    ["Namespace", note.namespace],
    ["Id", note.id],
  ];
  return h("dl", { class: "table" }, rows.filter(([, told]) => told).map(([name, told]) => [h("dt", {}, name), h("dd", {}, told)]));
}

function confirmed(note) {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "really", onclose: () => dialog.remove() },
    h("h2", { id: "really" }, `Delete “${nameOf(note)}”?`),
    h("p", {}, "It goes with its words, its vectors and its links. There is no way back."),
    h(
      "p",
      { class: "actions" },
      h("button", { type: "button", onclick: () => dialog.close(), autofocus: true }, "Keep it"),
      h("button", { type: "button", class: "danger", onclick: () => remove(note, dialog) }, "Delete"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

async function remove(note, dialog) {
  try {
    await ask("DELETE", `/v1/notes/${encodeURIComponent(note.id)}`);
    dialog.close();
    forget();
    announce("deleted");
    location.hash = to("notes");
  } catch (problem) {
    dialog.append(problemBox(problem));
  }
}
