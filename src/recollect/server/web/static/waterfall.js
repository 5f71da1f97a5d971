// How one hit came by its score: what each leg gave, what the stages made of it, and the sum worked out once more.

import { h } from "./dom.js";
import { figure, leg } from "./words.js";

/** The bar that stands on a hit: the points of its legs, then what the stages added or took away. */
export function strip(waterfall, scale) {
  const score = waterfall.rows.at(-1).end;
  const legs = waterfall.rows.filter((row) => row.kind === "leg");
  const fused = legs.length ? legs.at(-1).end : 0;
  const parts = legs.map((row) => bar(row.start, Math.min(row.end, Math.max(score, row.start)), scale, `leg ${row.name}`));
  if (score > fused) parts.push(bar(fused, score, scale, "gain"));
  if (score < fused) parts.push(bar(score, fused, scale, "loss"));
  return h("span", { class: "strip", "aria-hidden": "true" }, parts);
}

/** The whole account of a hit, as a table in which each row has its bar. */
export function waterfall(hit, told, scale) {
  const quiet = quietStages(hit, told.rows);
  return h(
    "div",
    { class: "waterfall" },
    h("p", { class: "sentence" }, told.sentence),
    told.pointers.map((line) => h("p", { class: "pointer" }, `↳ ${line}`)),
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, "What made the score"),
      h("thead", { class: "unseen" }, h("tr", {}, ["What", "Change", "Bar", "Score", "Why"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, told.rows.map((row) => line(row, scale))),
    ),
    h("p", { class: "sum" }, sum(hit)),
    quiet.length ? h("p", { class: "quiet" }, `Looked at and left as it was by: ${quiet.map(leg).join(", ")}.`) : null,
  );
}

function line(row, scale) {
  const name = leg(row.name).replaceAll("_", " ");
  const grew = row.kind === "stage" ? (row.end > row.start ? "gain" : row.end < row.start ? "loss" : "same") : "";
  return h(
    "tr",
    { class: `${row.kind} ${grew}` },
    h("th", { scope: "row" }, row.kind === "leg" ? h("span", { class: `swatch ${row.name}` }) : null, name),
    h("td", { class: "number" }, shortChange(row)),
    h("td", { class: "lane" }, h("div", { class: "track" }, bars(row, scale))),
    h("td", { class: "number" }, row.kind === "leg" ? "" : figure(row.end)),
    h("td", { class: "reason" }, row.reason),
  );
}

function bars(row, scale) {
  if (row.kind === "leg") return [bar(row.start, row.end, scale, `leg ${row.name}`)];
  if (row.kind !== "stage") return [bar(0, row.end, scale, "total")];
  const low = Math.min(row.start, row.end);
  const changed = row.start === row.end ? [] : [bar(low, Math.max(row.start, row.end), scale, row.end > row.start ? "gain" : "loss")];
  return [bar(0, low, scale, "before"), ...changed];
}

function bar(start, end, scale, kind) {
  const share = (value) => `${scale > 0 ? Math.min(100, Math.max(0, (100 * value) / scale)) : 0}%`;
  return h("span", { class: `bar ${kind}`, style: { left: share(start), width: share(Math.max(0, end - start)) } });
}

function shortChange(row) {
  return row.kind === "leg" ? `+ ${figure(row.end - row.start)}` : row.change;
}

function quietStages(hit, rows) {
  const told = new Set(rows.map((row) => row.name));
  return [...new Set(hit.steps.map((step) => step.stage))].filter((stage) => !told.has(stage));
}

/** The score worked out from the record alone, in figures that one can check. */
function sum(hit) {
  let score = hit.contributions.reduce((total, part) => total + part.points, 0);
  let written = hit.contributions.map((part) => figure(part.points)).join(" + ") || "0";
  let bare = hit.contributions.length < 2;
  for (const { factor, addend } of hit.steps) {
    score = score * factor + addend;
    if (factor !== 1) {
      written = `${bare ? written : `(${written})`} × ${rounded(factor)}`;
      bare = true;
    }
    if (addend) {
      written = `${written} ${addend > 0 ? "+" : "−"} ${figure(Math.abs(addend))}`;
      bare = false;
    }
  }
  const agrees = Math.abs(score - hit.score) <= 1e-9 * Math.max(1, Math.abs(hit.score));
  const verdict = agrees
    ? h("span", { class: "agrees", title: "Worked out in this page from the trace alone" }, "✓ adds up")
    : h("span", { class: "differs" }, `✗ the record comes to ${figure(score)}`);
  return [h("code", {}, `${written} = ${figure(hit.score)}`), " ", verdict];
}

function rounded(value) {
  return String(Number(value.toPrecision(4)));
}
