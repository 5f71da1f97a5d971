// The same query under several presets, side by side: what rises, what falls, what comes and goes is drawn as lines.

import { ask } from "./api.js";
import { askingControls, presets } from "./asking.js";
import { fill, h, svg } from "./dom.js";
import { Latest } from "./latest.js";
import { lightUp } from "./lighting.js";
import { announce, problemBox } from "./notices.js";
import { remember } from "./places.js";
import { waterfall } from "./waterfall.js";
import { count, milliseconds, nameOf } from "./words.js";

const ROW = 52;
const GAP = 84;

/** Show the view; the result is what to do when it is left. */
export function compareView(main, { asked }) {
  const chooser = h("fieldset", { class: "presets" }, h("legend", {}, "Presets"));
  const notices = h("div", { class: "notices" });
  const board = h("div", { class: "board" });
  const reasons = h("section", { class: "reasons", "aria-live": "polite" });
  let chosen = (asked.get("presets") ?? "").split(",").filter(Boolean);
  let picked = null;

  const latest = new Latest(
    ({ query, mode }, signal) => {
      const body = { query, presets: chosen, trace: true, now: new Date().toISOString(), ...(mode && { mode }) };
      return ask("POST", "/v1/compare", { signal, body });
    },
    (answer) => show(answer.data.results),
    (problem) => {
      for (const each of [board, reasons]) fill(each);
      fill(notices, problemBox(problem, again));
    },
    (waits) => {
      board.classList.toggle("waiting", waits);
      board.setAttribute("aria-busy", String(waits));
    },
  );
  const controls = askingControls(asked, search, { choosesPreset: false });

  /** The button that was pressed goes with the problem; the field has the focus then. */
  function again() {
    controls.focus();
    search();
  }

  function search() {
    const { query, mode } = controls.question();
    remember("compare", { q: query, mode, presets: chosen.join(",") });
    if (query.trim() && chosen.length) latest.request({ query, mode });
    else {
      latest.cancel();
      fill(board);
      fill(reasons);
      const hint = chosen.length ? "Type a query, and see what each preset makes of it." : "Choose at least one preset.";
      fill(notices, h("div", { class: "empty" }, h("p", {}, hint)));
    }
  }

  function show(results) {
    const names = chosen.filter((name) => name in results);
    const light = (id) => lightUp([board], id);
    const pick = (id) => {
      picked = picked === id ? null : id;
      explain(results, names);
    };
    const focused = board.contains(document.activeElement) ? document.activeElement.dataset.note : null;
    fill(notices, warnings(results, names));
    fill(board, names.flatMap((name, place) => [place ? lines(results[names[place - 1]].hits, results[name].hits) : null, column(name, results[name], light, pick)]));
    explain(results, names);
    if (focused) ([...board.querySelectorAll("button")].find((each) => each.dataset.note === focused) ?? controls).focus();
    announce(names.map((name) => `${name}: ${count(results[name].hits.length, "note")}`).join(", "));
  }

  function explain(results, names) {
    for (const each of board.querySelectorAll("button[data-note]")) each.setAttribute("aria-pressed", String(each.dataset.note === picked));
    const note = names.flatMap((name) => results[name].hits).find((hit) => hit.id === picked);
    if (note) fill(reasons, h("h2", {}, `Why “${nameOf(note)}” stands there`), names.map((name) => reason(name, results[name], picked)));
    else fill(reasons, names.some((name) => results[name].hits.length) ? h("p", { class: "quiet" }, "Choose a note to see what each preset thought of it.") : null);
  }

  function choose(name, wanted) {
    chosen = wanted ? [...chosen, name] : chosen.filter((other) => other !== name);
    search();
  }

  presets().then(
    (told) => {
      const names = told.presets.map(({ name }) => name);
      chosen = chosen.filter((name) => names.includes(name));
      if (!chosen.length) chosen = [told.default, ...names.filter((name) => name !== told.default)].slice(0, 3);
      chooser.append(...told.presets.map(({ name, about }) => choice(name, about, chosen.includes(name), choose)));
      search();
    },
    (problem) => fill(notices, problemBox(problem)),
  );
  fill(main, h("h1", { class: "unseen" }, "Compare presets"), controls.element, chooser, notices, h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Presets side by side" }, board), reasons);
  controls.focus();
  return () => latest.cancel();
}

function choice(name, about, checked, choose) {
  return h("label", { title: about }, h("input", { type: "checkbox", checked, onchange: (event) => choose(name, event.target.checked) }), name);
}

function warnings(results, names) {
  const told = new Set(names.flatMap((name) => results[name].warnings));
  const empty = names.every((name) => !results[name].hits.length);
  return [
    ...[...told].map((warning) => h("p", { class: "notice warning" }, warning)),
    empty ? h("div", { class: "empty" }, h("h2", {}, "Nothing found"), h("p", {}, "None of these presets finds a note.")) : null,
  ];
}

function column(name, { hits, explanation_data: account, trace, has_answer: answered }, light, pick) {
  const how = account.query_summary.find(({ label }) => label === "preset")?.text.split(" · ").slice(1).join(" · ") ?? "";
  const items = hits.map((hit) =>
    h(
      "li",
      { style: { height: `${ROW}px` } },
      h(
        "button",
        {
          type: "button",
          "data-note": hit.id,
          "aria-pressed": "false",
          onclick: () => pick(hit.id),
          onmouseenter: () => light(hit.id),
          onmouseleave: () => light(null),
          onfocus: () => light(hit.id),
          onblur: () => light(null),
        },
        h("span", { class: "rank" }, String(hit.rank)),
        h("span", { class: "text" }, h("span", { class: "name" }, nameOf(hit)), h("small", {}, hit.snippet)),
      ),
    ),
  );
  return h(
    "section",
    { class: "column" },
    h("header", {}, h("h2", {}, name), h("p", {}, hits.length && !answered ? h("strong", {}, "nothing fits · ") : null, `${how} · ${milliseconds(trace.totalElapsed)}`)),
    h("ol", {}, items),
  );
}

/** Draw how the notes of one column go over into the next; what is in one alone ends in a short dashed line. */
function lines(left, right) {
  const y = (rank) => (rank - 0.5) * ROW;
  const before = new Map(left.map((hit) => [hit.id, hit.rank]));
  const after = new Map(right.map((hit) => [hit.id, hit.rank]));
  const paths = [];
  for (const [id, rank] of before) {
    const then = after.get(id);
    const kind = then === undefined ? "gone" : then < rank ? "rises" : then > rank ? "falls" : "stays";
    const end = then === undefined ? `h${GAP / 3}` : `C${GAP / 2} ${y(rank)} ${GAP / 2} ${y(then)} ${GAP} ${y(then)}`;
    paths.push(svg("path", { class: kind, "data-note": id, d: `M0 ${y(rank)}${end}` }));
    if (then !== undefined && then !== rank) {
      const moved = `${then < rank ? "▲" : "▼"}${Math.abs(rank - then)}`;
      paths.push(svg("text", { class: kind, "data-note": id, x: GAP - 5, y: y(then) - 7 }, moved));
    }
  }
  for (const [id, rank] of after) {
    if (!before.has(id)) paths.push(svg("path", { class: "comes", "data-note": id, d: `M${(2 * GAP) / 3} ${y(rank)}H${GAP}` }));
  }
  const height = Math.max(left.length, right.length, 1) * ROW;
  return svg("svg", { class: "changes", width: GAP, height, viewBox: `0 0 ${GAP} ${height}`, "aria-hidden": "true" }, paths);
}

function reason(name, { hits, explanation_data: account }, id) {
  const place = hits.findIndex((hit) => hit.id === id);
  const told = place < 0 ? h("p", { class: "quiet" }, `Not among its first ${hits.length}.`) : waterfall(hits[place], account.waterfalls[place], account.max_score);
  return h("div", { class: "by-preset" }, h("h3", {}, place < 0 ? name : `${name}: number ${place + 1}`), told);
}
