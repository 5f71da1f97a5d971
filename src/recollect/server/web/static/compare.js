// The view that compares presets on one query, side by side; lines show which notes rise, fall, enter and leave.

import { LatestRequest, request } from "./api.js";
import { waterfallTable } from "./charts.js";
import { announce, emptyBox, fill, h, highlightNote, problemBox, svg } from "./dom.js";
import { count, milliseconds, noteName } from "./format.js";
import { replaceQuery } from "./router.js";
import { presets, searchForm } from "./search-form.js";

const ROW_HEIGHT = 52; // pixels
const LINES_WIDTH = 84; // pixels between two columns

/** Show the view; the returned function is called when the view is left. */
export function compareView(main, { query: initial }) {
  const chooser = h("fieldset", { class: "presets" }, h("legend", {}, "Presets"));
  const notices = h("div", { class: "notices" });
  const board = h("div", { class: "board" });
  const reasons = h("section", { class: "reasons", "aria-live": "polite" });
  let chosen = (initial.get("presets") ?? "").split(",").filter(Boolean);
  let selectedId = null;

  const latest = new LatestRequest(
    ({ query, mode }, signal) => {
      const body = { query, presets: chosen, trace: true, now: new Date().toISOString(), ...(mode && { mode }) };
      return request("POST", "/v1/compare", { signal, body });
    },
    (response) => show(response.data.results),
    (problem) => {
      for (const element of [board, reasons]) fill(element);
      fill(notices, problemBox(problem, retry));
    },
    (outdated) => {
      board.classList.toggle("outdated", outdated);
      board.setAttribute("aria-busy", String(outdated));
    },
  );
  const form = searchForm(initial, search, { withPreset: false });

  /** Focus the field, since the button that was pressed disappears with the problem. */
  function retry() {
    form.focus();
    search();
  }

  function search() {
    const { query, mode } = form.params();
    replaceQuery("compare", { q: query, mode, presets: chosen.join(",") });
    if (query.trim() && chosen.length) latest.submit({ query, mode });
    else {
      latest.cancel();
      fill(board);
      fill(reasons);
      const hint = chosen.length ? "Type a query to compare the results of the presets." : "Select at least one preset.";
      fill(notices, h("div", { class: "empty" }, h("p", {}, hint)));
    }
  }

  function show(results) {
    const names = chosen.filter((name) => name in results);
    const highlight = (id) => highlightNote([board], id);
    const select = (id) => {
      selectedId = selectedId === id ? null : id;
      explain(results, names);
    };
    const focusedId = board.contains(document.activeElement) ? document.activeElement.dataset.note : null;
    fill(notices, warnings(results, names));
    fill(board, names.flatMap((name, index) => [index ? rankLines(results[names[index - 1]].hits, results[name].hits) : null, column(name, results[name], highlight, select)]));
    explain(results, names);
    if (focusedId) ([...board.querySelectorAll("button")].find((button) => button.dataset.note === focusedId) ?? form).focus();
    announce(names.map((name) => `${name}: ${count(results[name].hits.length, "note")}`).join(", "));
  }

  function explain(results, names) {
    for (const button of board.querySelectorAll("button[data-note]")) button.setAttribute("aria-pressed", String(button.dataset.note === selectedId));
    const note = names.flatMap((name) => results[name].hits).find((hit) => hit.id === selectedId);
    if (note) fill(reasons, h("h2", {}, `Why “${noteName(note)}” has its rank`), names.map((name) => explanation(name, results[name], selectedId)));
    else fill(reasons, names.some((name) => results[name].hits.length) ? h("p", { class: "muted" }, "Select a note to see its score with each preset.") : null);
  }

  function toggle(name, isChosen) {
    chosen = isChosen ? [...chosen, name] : chosen.filter((other) => other !== name);
    search();
  }

  presets().then(
    (data) => {
      const names = data.presets.map(({ name }) => name);
      chosen = chosen.filter((name) => names.includes(name));
      if (!chosen.length) chosen = [data.default, ...names.filter((name) => name !== data.default)].slice(0, 3);
      chooser.append(...data.presets.map(({ name, about }) => checkbox(name, about, chosen.includes(name), toggle)));
      search();
    },
    (problem) => fill(notices, problemBox(problem)),
  );
  fill(main, h("h1", { class: "visually-hidden" }, "Compare presets"), form.element, chooser, notices, h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Presets side by side" }, board), reasons);
  form.focus();
  return () => latest.cancel();
}

function checkbox(name, about, checked, toggle) {
  return h("label", { title: about }, h("input", { type: "checkbox", checked, onchange: (event) => toggle(name, event.target.checked) }), name);
}

function warnings(results, names) {
  const messages = new Set(names.flatMap((name) => results[name].warnings));
  const empty = names.every((name) => !results[name].hits.length);
  return [
    ...[...messages].map((warning) => h("p", { class: "notice warning" }, warning)),
    empty ? emptyBox("Nothing found", h("p", {}, "No preset finds a note.")) : null,
  ];
}

function column(name, { hits, explanation_data: explained, trace, has_answer: hasAnswer }, highlight, select) {
  const settings = explained.query_summary.find(({ label }) => label === "preset")?.text.split(" · ").slice(1).join(" · ") ?? "";
  const items = hits.map((hit) =>
    h(
      "li",
      { style: { height: `${ROW_HEIGHT}px` } },
      h(
        "button",
        {
          type: "button",
          "data-note": hit.id,
          "aria-pressed": "false",
          onclick: () => select(hit.id),
          onmouseenter: () => highlight(hit.id),
          onmouseleave: () => highlight(null),
          onfocus: () => highlight(hit.id),
          onblur: () => highlight(null),
        },
        h("span", { class: "rank" }, String(hit.rank)),
        h("span", { class: "text" }, h("span", { class: "name" }, noteName(hit)), h("small", {}, hit.snippet)),
      ),
    ),
  );
  return h(
    "section",
    { class: "column" },
    h("header", {}, h("h2", {}, name), h("p", {}, hits.length && !hasAnswer ? h("strong", {}, "no answer · ") : null, `${settings} · ${milliseconds(trace.totalElapsed)}`)),
    h("ol", {}, items),
  );
}

/** Return lines between the ranks of two presets; a note that only one preset finds has a short dashed line. */
function rankLines(leftHits, rightHits) {
  const width = LINES_WIDTH;
  const y = (rank) => (rank - 0.5) * ROW_HEIGHT;
  const leftRanks = new Map(leftHits.map((hit) => [hit.id, hit.rank]));
  const rightRanks = new Map(rightHits.map((hit) => [hit.id, hit.rank]));
  const lines = [];
  const addLine = (kind, id, path) => lines.push(svg("path", { class: kind, "data-note": id, d: path }));
  for (const [id, left] of leftRanks) {
    const right = rightRanks.get(id);
    const curve = `M0 ${y(left)}C${width / 2} ${y(left)} ${width / 2} ${y(right)} ${width} ${y(right)}`;
    if (right === undefined) addLine("leaves", id, `M0 ${y(left)}h${width / 3}`);
    else if (right === left) addLine("stays", id, curve);
    else {
      const [kind, arrow] = right < left ? ["rises", "▲"] : ["falls", "▼"];
      addLine(kind, id, curve);
      lines.push(svg("text", { class: kind, "data-note": id, x: width - 5, y: y(right) - 7 }, `${arrow}${Math.abs(left - right)}`));
    }
  }
  for (const [id, right] of rightRanks) if (!leftRanks.has(id)) addLine("enters", id, `M${(2 * width) / 3} ${y(right)}H${width}`);
  const height = Math.max(leftHits.length, rightHits.length, 1) * ROW_HEIGHT;
  return svg("svg", { class: "changes", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, lines);
}

function explanation(name, { hits, explanation_data: explained }, id) {
  const index = hits.findIndex((hit) => hit.id === id);
  const content = index < 0 ? h("p", { class: "muted" }, `Not among the first ${hits.length}.`) : waterfallTable(hits[index], explained.waterfalls[index], explained.max_score);
  return h("div", { class: "by-preset" }, h("h3", {}, index < 0 ? name : `${name}: rank ${index + 1}`), content);
}
