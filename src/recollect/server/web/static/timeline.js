// One search as a timeline: which part ran when and for how long, the stages within, and the rungs of the retry ladder.

import { h } from "./dom.js";
import { RUNGS, count, milliseconds } from "./words.js";

/** Return the drawing of a search's parts on one scale of time. */
export function timeline(account, trace) {
  const whole = account.timeline.at(-1).elapsed || 1;
  const rows = account.timeline.flatMap((part) => {
    const told = part.name === "fusion" ? part.message.split(" · ")[0] : part.message;
    const drawn = [row(part.name, part.start, part.elapsed, told, whole, part.name)];
    if (part.name === "fusion") drawn.push(...stages(part, trace.stages ?? [], whole));
    return drawn;
  });
  const table = h("table", { class: "timeline" }, h("caption", {}, "What happened, and when"), heading(), h("tbody", {}, rows));
  return h("div", { class: "wide" }, table);
}

/** Return what was tried by words: each rung that was stepped on, and what it found. */
export function ladder(attempts) {
  if (!attempts?.length) return null;
  const rungs = attempts.map(({ strategy, query, hits }, place) =>
    h(
      "li",
      { class: hits ? "found" : "empty" },
      h("span", { class: "rung" }, String(place + 1)),
      h("span", { class: "strategy" }, RUNGS[strategy] ?? strategy),
      h("code", {}, query || "–"),
      h("span", { class: "number" }, hits ? count(hits, "note") : "nothing"),
    ),
  );
  return h("div", { class: "ladder" }, h("h3", {}, "The ladder of words"), h("ol", {}, rungs));
}

function heading() {
  const names = ["Part", "When, and what came of it", "Time"];
  return h("thead", { class: "unseen" }, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));
}

function row(name, start, elapsed, told, whole, kind) {
  const style = { left: share(start, whole), width: share(elapsed, whole) };
  return h(
    "tr",
    { class: kind },
    h("th", { scope: "row" }, name.replaceAll("_", " ")),
    h("td", { class: "lane" }, h("div", { class: "track" }, h("span", { class: `bar part ${kind}`, style })), told ? h("p", { class: "reason" }, told) : null),
    h("td", { class: "number" }, elapsed ? milliseconds(elapsed) : "–"),
  );
}

/** The stages behind the fusion, with how many notes each added or took away. */
function stages({ start, elapsed, told }, runs, whole) {
  let at = start + elapsed - runs.reduce((total, run) => total + run.elapsed, 0);
  let notes = parseInt(told, 10);
  return runs.map((run) => {
    const change = run.candidates - notes;
    const drawn = row(run.stage, Math.max(0, at), run.elapsed, change ? `${change > 0 ? "+" : "−"} ${count(Math.abs(change), "note")}` : "", whole, "stage");
    at += run.elapsed;
    notes = run.candidates;
    return drawn;
  });
}

function share(value, whole) {
  return `${Math.min(100, (100 * value) / whole)}%`;
}
