// A note and its neighbours as a graph: the note in the middle, a line for each neighbour.

import { h, svg } from "./dom.js";
import { noteName, truncate } from "./format.js";
import { url } from "./router.js";

const WIDTH = 720;
const HEIGHT = 380;
const ROW_HEIGHT = 90;
const PHONE_WIDTH = 350;
const NARROW = "(max-width: 560px)";
const MAX_NEIGHBOURS = 12;

/** Return the graph; a neighbour with several connections is drawn once. */
export function graph(note, neighbours) {
  const all = [...byNote(neighbours).values()];
  const shown = all.slice(0, MAX_NEIGHBOURS);
  const { width, height, centre, positions } = matchMedia(NARROW).matches ? listLayout(shown.length) : circleLayout(shown.length);
  const self = box(noteName(note), centre, "self", width);
  const nodes = shown.map((neighbour, index) => node(neighbour, self, positions[index], width));
  return h(
    "figure",
    { class: "graph" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Neighbours of ${noteName(note)}` },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }))),
      nodes.map(({ edge }) => edge),
      nodes.map(({ label }) => label),
      self.element,
    ),
    all.length > shown.length ? h("figcaption", {}, `and ${all.length - shown.length} more in the list`) : null,
  );
}

/** Place one or two neighbours beside the note in a row, more in a circle. */
function circleLayout(count) {
  const [height, firstAngle] = count < 3 ? [ROW_HEIGHT, 0] : [HEIGHT, -Math.PI / 2];
  const centre = { x: WIDTH / 2, y: height / 2 };
  const positions = Array.from({ length: count }, (_, index) => {
    const angle = (2 * Math.PI * index) / count + firstAngle;
    return { x: centre.x + 270 * Math.cos(angle), y: centre.y + 148 * Math.sin(angle) };
  });
  return { width: WIDTH, height, centre, positions };
}

/** On a phone, place neighbours below the note, left and right in turn, so that labels stay readable. */
function listLayout(count) {
  const positions = Array.from({ length: count }, (_, index) => ({ x: index % 2 ? PHONE_WIDTH : 0, y: 92 + 46 * index }));
  return { width: PHONE_WIDTH, height: 72 + 46 * count, centre: { x: PHONE_WIDTH / 2, y: 22 }, positions };
}

function byNote(neighbours) {
  const notes = new Map();
  for (const { kind, direction, note } of neighbours) {
    const entry = notes.get(note.id) ?? { note, kinds: new Set(), directions: new Set() };
    entry.kinds.add(kind);
    entry.directions.add(direction);
    notes.set(note.id, entry);
  }
  return notes;
}

function node({ note, kinds, directions }, self, position, maxX) {
  const other = box(noteName(note), position, "other", maxX);
  const [from, until] = [border(self, other), border(other, self)];
  const middle = { x: (from.x + until.x) / 2, y: (from.y + until.y) / 2 };
  const kind = [...kinds].join(", ");
  const edge = svg("g", { class: "edge" }, svg("line", { x1: from.x, y1: from.y, x2: until.x, y2: until.y, "marker-end": directions.has("out") ? "url(#arrow)" : null }));
  if (directions.has("in")) edge.append(svg("line", { x1: until.x, y1: until.y, x2: from.x, y2: from.y, "marker-end": "url(#arrow)" }));
  // The label of a steep line is on the line, that of a flat one above it.
  const above = Math.abs(self.y - other.y) < 80 ? 11 : 4;
  edge.append(svg("text", { x: middle.x, y: middle.y - above }, truncate(kind, 22)));
  const label = svg("a", { href: url("note", [note.id]), "aria-label": `${noteName(note)}, ${kind}` }, svg("title", {}, noteName(note)), other.element);
  return { edge, label };
}

/** Return where a line to another box leaves this one, with a small gap. */
function border(box, other) {
  const [dx, dy] = [other.x - box.x, other.y - box.y];
  const share = Math.min((box.width / 2 + 4) / Math.abs(dx), 18 / Math.abs(dy), 0.5);
  return { x: box.x + dx * share, y: box.y + dy * share };
}

/** Return a labelled box and its centre, moved into the drawing if needed. */
function box(name, { x, y }, kind, maxX) {
  const text = truncate(name, 22);
  const width = Math.max(60, Array.from(text).length * (kind === "self" ? 7.9 : 7.4) + 18);
  const left = Math.min(maxX - width - 2, Math.max(2, x - width / 2));
  const element = svg("g", { class: kind }, svg("rect", { x: left, y: y - 14, width, height: 28, rx: 8 }), svg("text", { x: left + width / 2, y }, text));
  return { element, width, x: left + width / 2, y };
}
