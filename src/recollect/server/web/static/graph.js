// The graph of a note and its neighbours: the note in the middle, a line to each neighbour.

import { h, svg } from "./dom.js";
import { noteName, truncate } from "./format.js";
import { url } from "./router.js";

const WIDTH = 720;
const HEIGHT = 380;
const ONE_ROW_HEIGHT = 90;
const RADIUS = { x: 270, y: 148 };
const PHONE_WIDTH = 350;
const PHONE_ROW_HEIGHT = 46;
const IS_PHONE = "(max-width: 560px)";
export const MAX_NEIGHBOURS = 12;

/** Return the graph; a neighbour with several connections is drawn once. */
export function graph(note, neighbours) {
  const all = [...groupByNote(neighbours).values()];
  const shown = all.slice(0, MAX_NEIGHBOURS);
  const { width, height, centre, positions } = matchMedia(IS_PHONE).matches ? listLayout(shown.length) : circleLayout(shown.length);
  const centreBox = labelledBox(noteName(note), centre, "self", width);
  const nodes = shown.map((neighbour, index) => neighbourNode(neighbour, centreBox, positions[index], width));
  return h(
    "figure",
    { class: "graph" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Neighbours of ${noteName(note)}` },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }))),
      nodes.map(({ edge }) => edge),
      nodes.map(({ label }) => label),
      centreBox.element,
    ),
    all.length > shown.length ? h("figcaption", {}, `and ${all.length - shown.length} more in the list`) : null,
  );
}

/** Place one or two neighbours beside the note in a row, more neighbours on an ellipse. */
function circleLayout(count) {
  const [height, firstAngle] = count < 3 ? [ONE_ROW_HEIGHT, 0] : [HEIGHT, -Math.PI / 2];
  const centre = { x: WIDTH / 2, y: height / 2 };
  const positions = Array.from({ length: count }, (_, index) => {
    const angle = (2 * Math.PI * index) / count + firstAngle;
    return { x: centre.x + RADIUS.x * Math.cos(angle), y: centre.y + RADIUS.y * Math.sin(angle) };
  });
  return { width: WIDTH, height, centre, positions };
}

/** On a phone, place neighbours below the note, left and right in turn, so that labels stay readable. */
function listLayout(count) {
  const positions = Array.from({ length: count }, (_, index) => ({ x: index % 2 ? PHONE_WIDTH : 0, y: 92 + PHONE_ROW_HEIGHT * index }));
  return { width: PHONE_WIDTH, height: 72 + PHONE_ROW_HEIGHT * count, centre: { x: PHONE_WIDTH / 2, y: 22 }, positions };
}

/** Return the kinds and directions of the connections to each neighbour, by the neighbour's id. */
function groupByNote(neighbours) {
  const notes = new Map();
  for (const { kind, direction, note } of neighbours) {
    const entry = notes.get(note.id) ?? { note, kinds: new Set(), directions: new Set() };
    entry.kinds.add(kind);
    entry.directions.add(direction);
    notes.set(note.id, entry);
  }
  return notes;
}

/** Return the edge from the centre to a neighbour, and the neighbour's label, which is a link. */
function neighbourNode({ note, kinds, directions }, centreBox, position, maxX) {
  const neighbourBox = labelledBox(noteName(note), position, "other", maxX);
  const [from, to] = [borderPoint(centreBox, neighbourBox), borderPoint(neighbourBox, centreBox)];
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const kind = [...kinds].join(", ");
  const edge = svg("g", { class: "edge" }, svg("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, "marker-end": directions.has("out") ? "url(#arrow)" : null }));
  if (directions.has("in")) edge.append(svg("line", { x1: to.x, y1: to.y, x2: from.x, y2: from.y, "marker-end": "url(#arrow)" }));
  // The label of a steep line is on the line, the label of a flat line above it.
  const labelOffset = Math.abs(centreBox.y - neighbourBox.y) < 80 ? 11 : 4;
  edge.append(svg("text", { x: middle.x, y: middle.y - labelOffset }, truncate(kind, 22)));
  const label = svg("a", { href: url("note", [note.id]), "aria-label": `${noteName(note)}, ${kind}` }, svg("title", {}, noteName(note)), neighbourBox.element);
  return { edge, label };
}

/** Return the point where a line to another box leaves this box, with a small gap. */
function borderPoint(box, other) {
  const [dx, dy] = [other.x - box.x, other.y - box.y];
  const share = Math.min((box.width / 2 + 4) / Math.abs(dx), 18 / Math.abs(dy), 0.5);
  return { x: box.x + dx * share, y: box.y + dy * share };
}

/** Return a labelled box, its width and its centre, which is moved into the drawing if needed. */
function labelledBox(name, { x, y }, kind, maxX) {
  const text = truncate(name, 22);
  const width = Math.max(60, Array.from(text).length * (kind === "self" ? 7.9 : 7.4) + 18); // "self" is bold
  const left = Math.min(maxX - width - 2, Math.max(2, x - width / 2));
  const element = svg("g", { class: kind }, svg("rect", { x: left, y: y - 14, width, height: 28, rx: 8 }), svg("text", { x: left + width / 2, y }, text));
  return { element, width, x: left + width / 2, y };
}
