// A note and what lies around it, as a small graph: the note in the middle, one line for each connection.

import { h, svg } from "./dom.js";
import { to } from "./places.js";
import { nameOf, shortened } from "./words.js";

const WIDTH = 720;
const HEIGHT = 380;
const LOW = 90;
const PHONE = 350;
const NARROW = "(max-width: 560px)";
const MOST = 12;

/** Return the drawing of a note's neighbours; those with several connections stand there once. */
export function graph(note, neighbours) {
  const around = [...gathered(neighbours).values()];
  const shown = around.slice(0, MOST);
  const { width, height, self, places } = matchMedia(NARROW).matches ? below(shown.length) : beside(shown.length);
  const middle = box(nameOf(note), self, "self", width);
  const drawn = shown.map((each, place) => node(each, middle, places[place], width));
  return h(
    "figure",
    { class: "graph" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `What lies around ${nameOf(note)}` },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }))),
      drawn.map(({ edge }) => edge),
      drawn.map(({ label }) => label),
      middle.element,
    ),
    around.length > shown.length ? h("figcaption", {}, `and ${around.length - shown.length} more, in the list`) : null,
  );
}

/** One or two stand beside the note, in a row; more stand around it. */
function beside(count) {
  const [height, first] = count < 3 ? [LOW, 0] : [HEIGHT, -Math.PI / 2];
  const self = { x: WIDTH / 2, y: height / 2 };
  const places = Array.from({ length: count }, (_, place) => {
    const angle = (2 * Math.PI * place) / count + first;
    return { x: self.x + 270 * Math.cos(angle), y: self.y + 148 * Math.sin(angle) };
  });
  return { width: WIDTH, height, self, places };
}

/** On a phone they stand below it, to the left and to the right in turn, in letters that can be read. */
function below(count) {
  const places = Array.from({ length: count }, (_, place) => ({ x: place % 2 ? PHONE : 0, y: 92 + 46 * place }));
  return { width: PHONE, height: 72 + 46 * count, self: { x: PHONE / 2, y: 22 }, places };
}

function gathered(neighbours) {
  const notes = new Map();
  for (const { kind, direction, note } of neighbours) {
    const known = notes.get(note.id) ?? { note, kinds: new Set(), directions: new Set() };
    known.kinds.add(kind);
    known.directions.add(direction);
    notes.set(note.id, known);
  }
  return notes;
}

function node({ note, kinds, directions }, self, at, room) {
  const other = box(nameOf(note), at, "other", room);
  const [from, until] = [border(self, other), border(other, self)];
  const middle = { x: (from.x + until.x) / 2, y: (from.y + until.y) / 2 };
  const kind = [...kinds].join(", ");
  const edge = svg("g", { class: "edge" }, svg("line", { x1: from.x, y1: from.y, x2: until.x, y2: until.y, "marker-end": directions.has("out") ? "url(#arrow)" : null }));
  if (directions.has("in")) edge.append(svg("line", { x1: until.x, y1: until.y, x2: from.x, y2: from.y, "marker-end": "url(#arrow)" }));
  // On a line that goes up its name stands on it, beside one that lies above it.
  const above = Math.abs(self.y - other.y) < 80 ? 11 : 4;
  edge.append(svg("text", { x: middle.x, y: middle.y - above }, shortened(kind, 22)));
  const label = svg("a", { href: to("note", [note.id]), "aria-label": `${nameOf(note)}, ${kind}` }, svg("title", {}, nameOf(note)), other.element);
  return { edge, label };
}

/** Where a line from one box to another leaves it, with a little air. */
function border(box, other) {
  const [dx, dy] = [other.x - box.x, other.y - box.y];
  const share = Math.min((box.width / 2 + 4) / Math.abs(dx), 18 / Math.abs(dy), 0.5);
  return { x: box.x + dx * share, y: box.y + dy * share };
}

/** Return a box with a name in it, and where it stands: inside of the drawing. */
function box(name, { x, y }, kind, room) {
  const text = shortened(name, 22);
  const width = Math.max(60, Array.from(text).length * (kind === "self" ? 7.9 : 7.4) + 18);
  const left = Math.min(room - width - 2, Math.max(2, x - width / 2));
  const element = svg("g", { class: kind }, svg("rect", { x: left, y: y - 14, width, height: 28, rx: 8 }), svg("text", { x: left + width / 2, y }, text));
  return { element, width, x: left + width / 2, y };
}
