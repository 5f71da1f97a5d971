// Where the hits stood by words and by meaning, and where they ended: lines from both legs into one list.

import { h, svg } from "./dom.js";

const ROW = 24;
const WIDTH = 340;
const COLUMNS = { lexical: 46, result: WIDTH / 2, vector: WIDTH - 46 };

/** Return the drawing, or nothing where only one leg ran. `light(id)` is told which hit is pointed at. */
export function legs(hits, light) {
  if (!hits.some((hit) => hit.lexical_rank) || !hits.some((hit) => hit.vector_rank)) return null;
  const lexical = rows(hits, "lexical_rank");
  const vector = rows(hits, "vector_rank");
  const deepest = Math.max(hits.length, ...lexical.values(), ...vector.values());
  const y = (row) => 34 + (row - 0.5) * ROW;
  const drawn = hits.map((hit) =>
    svg(
      "g",
      { class: "hit-lines", "data-note": hit.id, onmouseenter: () => light(hit.id), onmouseleave: () => light(null) },
      ...["lexical", "vector"].map((name) => {
        const row = (name === "lexical" ? lexical : vector).get(hit.id);
        return row ? line(name, y(row), y(hit.rank), hit[`${name}_rank`]) : null;
      }),
      svg("circle", { class: "place", cx: COLUMNS.result, cy: y(hit.rank), r: 10 }),
      svg("text", { class: "place", x: COLUMNS.result, y: y(hit.rank) }, String(hit.rank)),
    ),
  );
  return h(
    "figure",
    { class: "legs" },
    h("figcaption", {}, "Two legs, one list"),
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${y(deepest) + ROW}`, "aria-hidden": "true" },
      svg("text", { class: "head lexical", x: COLUMNS.lexical, y: 14 }, "by words"),
      svg("text", { class: "head", x: COLUMNS.result, y: 14 }, "the result"),
      svg("text", { class: "head vector", x: COLUMNS.vector, y: 14 }, "by meaning"),
      deepest > hits.length ? svg("path", { class: "depth", d: `M8 ${y(hits.length + 0.5)}H${WIDTH - 8}` }) : null,
      drawn,
    ),
  );
}

/** Give each hit its row in a leg's column: its rank, or below the others, in order, where it came from further down. */
function rows(hits, field) {
  const found = hits.filter((hit) => hit[field]).sort((one, other) => one[field] - other[field]);
  const placed = new Map();
  let next = hits.length + 1;
  for (const hit of found) placed.set(hit.id, hit[field] <= hits.length ? hit[field] : next++);
  return placed;
}

function line(name, from, to, rank) {
  const x = COLUMNS[name];
  const side = name === "lexical" ? 1 : -1;
  const [start, end] = [x + 14 * side, COLUMNS.result - 10 * side];
  const bend = (end - start) / 2;
  return svg(
    "g",
    { class: name },
    svg("path", { d: `M${start} ${from}C${start + bend} ${from} ${end - bend} ${to} ${end} ${to}` }),
    svg("text", { x, y: from }, String(rank)),
  );
}
