// Charts of a search: the waterfall of a hit's score, the ranks in both legs, the timeline and the fallback ladder.

import { h, svg } from "./dom.js";
import { FALLBACK_STEPS, count, milliseconds, score } from "./format.js";

/** Return a bar of a hit's score (`scale` fills it): the points of each leg, then the sum of what the stages changed. */
export function scoreBar(waterfall, scale) {
  const total = waterfall.rows.at(-1).end;
  const legs = waterfall.rows.filter((row) => row.kind === "leg");
  const fused = legs.length ? legs.at(-1).end : 0;
  const parts = legs.map((row) => bar(row.start, Math.min(row.end, Math.max(total, row.start)), scale, `leg ${row.name}`));
  if (total > fused) parts.push(bar(fused, total, scale, "gain"));
  if (total < fused) parts.push(bar(total, fused, scale, "loss"));
  return h("span", { class: "score-bar", "aria-hidden": "true" }, parts);
}

/** Return the waterfall of a hit as a table with a bar in each row. */
export function waterfallTable(hit, waterfall, scale) {
  const unchanged = unchangedStages(hit, waterfall.rows);
  return h(
    "div",
    { class: "waterfall" },
    h("p", { class: "sentence" }, waterfall.sentence),
    waterfall.pointers.map((line) => h("p", { class: "pointer" }, `↳ ${line}`)),
    h(
      "table",
      {},
      h("caption", { class: "visually-hidden" }, "What made the score"),
      h("thead", { class: "visually-hidden" }, h("tr", {}, ["Part", "Change", "Bar", "Score", "Reason"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, waterfall.rows.map((row) => waterfallRow(row, scale))),
    ),
    h("p", { class: "formula" }, formula(hit)),
    unchanged.length ? h("p", { class: "muted" }, `No effect: ${unchanged.join(", ")}.`) : null,
  );
}

function waterfallRow(row, scale) {
  const change = row.kind === "leg" ? `+ ${score(row.end - row.start)}` : row.change;
  return h(
    "tr",
    { class: `${row.kind} ${stageEffect(row)}` },
    h("th", { scope: "row" }, row.kind === "leg" ? h("span", { class: `swatch ${row.name}` }) : null, stageName(row.name)),
    h("td", { class: "number" }, change),
    h("td", { class: "lane" }, h("div", { class: "track" }, bars(row, scale))),
    h("td", { class: "number" }, row.kind === "leg" ? "" : score(row.end)),
    h("td", { class: "reason" }, row.reason),
  );
}

/** Return whether a stage raised ("gain") or lowered ("loss") the score; empty if it did not, or for another row. */
function stageEffect({ kind, start, end }) {
  if (kind !== "stage" || start === end) return "";
  return end > start ? "gain" : "loss";
}

function stageName(name) {
  return name.replaceAll("_", " ");
}

function bars(row, scale) {
  if (row.kind === "leg") return [bar(row.start, row.end, scale, `leg ${row.name}`)];
  if (row.kind !== "stage") return [bar(0, row.end, scale, "total")];
  const [low, high] = [Math.min(row.start, row.end), Math.max(row.start, row.end)];
  return [bar(0, low, scale, "before"), low < high ? bar(low, high, scale, stageEffect(row)) : null];
}

function bar(start, end, scale, kind) {
  const percentage = (value) => `${scale > 0 ? Math.min(100, Math.max(0, (100 * value) / scale)) : 0}%`;
  return h("span", { class: `bar ${kind}`, style: { left: percentage(start), width: percentage(Math.max(0, end - start)) } });
}

function unchangedStages(hit, rows) {
  const shown = new Set(rows.map((row) => stageName(row.name)));
  return [...new Set(hit.steps.map((step) => stageName(step.stage)))].filter((stage) => !shown.has(stage));
}

/** Compute the score again from contributions and steps, and compare it with the server's. */
function formula(hit) {
  let total = hit.contributions.reduce((sum, part) => sum + part.points, 0);
  let text = hit.contributions.map((part) => score(part.points)).join(" + ") || "0";
  let isSingleTerm = hit.contributions.length < 2; // a sum needs parentheses before it is multiplied
  for (const { factor, addend } of hit.steps) {
    total = total * factor + addend;
    if (factor !== 1) {
      text = `${isSingleTerm ? text : `(${text})`} × ${Number(factor.toPrecision(4))}`;
      isSingleTerm = true;
    }
    if (addend) {
      text = `${text} ${addend > 0 ? "+" : "−"} ${score(Math.abs(addend))}`;
      isSingleTerm = false;
    }
  }
  const agrees = Math.abs(total - hit.score) <= 1e-9 * Math.max(1, Math.abs(hit.score));
  const verdict = agrees
    ? h("span", { class: "agrees", title: "Computed in the browser from the trace" }, "✓ adds up")
    : h("span", { class: "differs" }, `✗ the steps add up to ${score(total)}`);
  return [h("code", {}, `${text} = ${score(hit.score)}`), " ", verdict];
}

const LEG_HEADER_HEIGHT = 34;
const LEG_ROW_HEIGHT = 24;
const LEG_WIDTH = 340;
const LEG_COLUMNS = { lexical: 46, result: LEG_WIDTH / 2, vector: LEG_WIDTH - 46 };

/** Return a chart with lines from the ranks in both legs to the ranks in the result, or null if only one leg ran.
 * `highlight(id)` is called with the hit under the pointer. */
export function legsChart(hits, highlight) {
  if (!hits.some((hit) => hit.lexical_rank) || !hits.some((hit) => hit.vector_rank)) return null;
  const rows = { lexical: legRows(hits, "lexical_rank"), vector: legRows(hits, "vector_rank") };
  const lastRow = Math.max(hits.length, ...rows.lexical.values(), ...rows.vector.values());
  const y = (row) => LEG_HEADER_HEIGHT + (row - 0.5) * LEG_ROW_HEIGHT;
  const lines = hits.map((hit) =>
    svg(
      "g",
      { class: "hit-lines", "data-note": hit.id, onmouseenter: () => highlight(hit.id), onmouseleave: () => highlight(null) },
      ...["lexical", "vector"].map((leg) => {
        const row = rows[leg].get(hit.id);
        return row ? legLine(leg, y(row), y(hit.rank), hit[`${leg}_rank`]) : null;
      }),
      svg("circle", { class: "rank", cx: LEG_COLUMNS.result, cy: y(hit.rank), r: 10 }),
      svg("text", { class: "rank", x: LEG_COLUMNS.result, y: y(hit.rank) }, String(hit.rank)),
    ),
  );
  return h(
    "figure",
    { class: "legs" },
    h("figcaption", {}, "Ranks in both legs"),
    svg(
      "svg",
      { viewBox: `0 0 ${LEG_WIDTH} ${y(lastRow) + LEG_ROW_HEIGHT}`, "aria-hidden": "true" },
      svg("text", { class: "head lexical", x: LEG_COLUMNS.lexical, y: 14 }, "lexical"),
      svg("text", { class: "head", x: LEG_COLUMNS.result, y: 14 }, "result"),
      svg("text", { class: "head vector", x: LEG_COLUMNS.vector, y: 14 }, "vector"),
      lastRow > hits.length ? svg("path", { class: "depth", d: `M8 ${y(hits.length + 0.5)}H${LEG_WIDTH - 8}` }) : null,
      lines,
    ),
  );
}

/** Return the row of each hit, by id, in the column of a leg: its rank, or one of the rows below if the rank is deeper. */
function legRows(hits, field) {
  const ranked = hits.filter((hit) => hit[field]).sort((hit, other) => hit[field] - other[field]);
  const rows = new Map();
  let nextRow = hits.length + 1;
  for (const hit of ranked) rows.set(hit.id, hit[field] <= hits.length ? hit[field] : nextRow++);
  return rows;
}

/** Return the rank in a leg and a curve from it, at height `legY`, to the result, at height `resultY`. */
function legLine(leg, legY, resultY, rank) {
  const x = LEG_COLUMNS[leg];
  const direction = leg === "lexical" ? 1 : -1;
  const [startX, endX] = [x + 14 * direction, LEG_COLUMNS.result - 10 * direction]; // beside the number, at the circle
  const middleX = (startX + endX) / 2;
  return svg(
    "g",
    { class: leg },
    svg("path", { d: `M${startX} ${legY}C${middleX} ${legY} ${middleX} ${resultY} ${endX} ${resultY}` }),
    svg("text", { x, y: legY }, String(rank)),
  );
}

/** Return a table of the parts of a search, with a bar for the start and the duration of each. */
export function timeline(explained, trace) {
  const total = explained.timeline.at(-1).elapsed || 1;
  const rows = explained.timeline.flatMap((part) => {
    const { name, start, elapsed, message } = part;
    if (name !== "fusion") return [timelineRow(name, start, elapsed, message, total, name)];
    return [timelineRow(name, start, elapsed, message.split(" · ")[0], total, name), ...stageRows(part, trace.stages ?? [], total)];
  });
  const head = h("tr", {}, ["Part", "Time and outcome", "Duration"].map((name) => h("th", { scope: "col" }, name)));
  const table = h("table", { class: "timeline" }, h("caption", {}, "Timeline"), h("thead", { class: "visually-hidden" }, head), h("tbody", {}, rows));
  return h("div", { class: "wide" }, table);
}

function timelineRow(name, start, elapsed, outcome, total, kind) {
  const percentage = (value) => `${Math.min(100, (100 * value) / total)}%`;
  return h(
    "tr",
    { class: kind },
    h("th", { scope: "row" }, stageName(name)),
    h("td", { class: "lane" }, h("div", { class: "track" }, h("span", { class: `bar ${kind}`, style: { left: percentage(start), width: percentage(elapsed) } })), outcome ? h("p", { class: "reason" }, outcome) : null),
    h("td", { class: "number" }, elapsed ? milliseconds(elapsed) : "–"),
  );
}

/** Return a row for each stage, with the number of notes that it added or removed. The stages end together with fusion. */
function stageRows({ start, elapsed, message }, runs, total) {
  let stageStart = start + elapsed - runs.reduce((sum, run) => sum + run.elapsed, 0);
  let notes = parseInt(message, 10); // fusion says "201 notes · …"
  return runs.map((run) => {
    const change = run.candidates - notes;
    const outcome = change ? `${change > 0 ? "+" : "−"} ${count(Math.abs(change), "note")}` : "";
    const row = timelineRow(run.stage, Math.max(0, stageStart), run.elapsed, outcome, total, "stage");
    stageStart += run.elapsed;
    notes = run.candidates;
    return row;
  });
}

/** Return the steps of the fallback ladder that ran, and how many notes each found. */
export function fallbackLadder(attempts) {
  if (!attempts?.length) return null;
  const steps = attempts.map(({ strategy, query, hits }, index) =>
    h(
      "li",
      { class: hits ? "success" : "empty" },
      h("span", { class: "step" }, String(index + 1)),
      h("span", { class: "strategy" }, FALLBACK_STEPS[strategy] ?? strategy),
      h("code", {}, query || "–"),
      h("span", { class: "number" }, hits ? count(hits, "note") : "no notes"),
    ),
  );
  return h("div", { class: "ladder" }, h("h3", {}, "Lexical fallback ladder"), h("ol", {}, steps));
}
