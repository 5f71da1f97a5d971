// Search as one types, with the reasons: hits on one side, how the search went on the other.

import { ask, namespace } from "./api.js";
import { askingControls } from "./asking.js";
import { fill, h } from "./dom.js";
import { hitCard } from "./hit.js";
import { Latest } from "./latest.js";
import { legs } from "./legs.js";
import { lightUp } from "./lighting.js";
import { announce, problemBox } from "./notices.js";
import { remember } from "./places.js";
import { stats } from "./rights.js";
import { ladder, timeline } from "./timeline.js";
import { count, milliseconds, percent } from "./words.js";

/** Show the view; the result is what to do when it is left. */
export function searchView(main, { asked }) {
  const open = new Set();
  let weakShown = null; // the query whose weak candidates the user wants to see
  const results = h("ol", { class: "hits" });
  const more = h("p", { class: "more" });
  const notices = h("div", { class: "notices" });
  const speed = h("p", { class: "speed" });
  const columns = h("div", { class: "columns" });
  const story = h("aside", { class: "story", "aria-label": "How the search went", tabindex: "0" });

  const latest = new Latest(
    ({ query, preset, mode }, signal) => ask("POST", "/v1/search", { signal, body: question(query, preset, mode) }),
    (answer, question) => show(answer, question),
    (problem) => {
      for (const each of [results, more, story, speed]) fill(each);
      fill(notices, problemBox(problem, again));
    },
    (waits) => {
      columns.classList.toggle("waiting", waits);
      columns.setAttribute("aria-busy", String(waits));
      if (waits) fill(speed, "searching…");
    },
  );
  const controls = askingControls(asked, search);

  /** The button that was pressed goes with the problem; the field has the focus then. */
  function again() {
    controls.focus();
    search();
  }

  function search() {
    const question = { ...controls.question(), since: performance.now() };
    remember("search", { q: question.query, preset: question.preset, mode: question.mode });
    if (question.query.trim()) latest.request(question);
    else {
      latest.cancel();
      welcome();
    }
  }

  function show({ data, server }, { query, since }) {
    const { explanation_data: account, trace } = data;
    const nothing = data.hits.length > 0 && !data.has_answer;
    const hits = weakShown === query ? data.hits : data.hits.filter((hit) => !hit.weak);
    const hidden = data.hits.length - hits.length;
    const waterfalls = new Map(account.waterfalls.map((each) => [each.id, each]));
    const showWeak = () => {
      weakShown = query;
      show({ data, server }, { query, since: performance.now() });
      results.querySelector(".hit.weak h2 a").focus();
    };
    const light = (id) => lightUp([results, story], id);
    const toggled = (id, now) => (now ? open.add(id) : open.delete(id));
    const focused = results.contains(document.activeElement) ? document.activeElement : null;
    fill(notices, told(data, query, hits, showWeak));
    fill(
      results,
      hits.map((hit) => hitCard(hit, waterfalls.get(hit.id), account.max_score, { open: open.has(hit.id), toggled, light, weak: hit.weak })),
    );
    fill(more, hidden && !nothing ? h("button", { type: "button", onclick: showWeak }, `Show ${count(hidden, "weak candidate")}`) : null);
    if (focused) refocus(results, focused, controls.focus);
    fill(story, reading(account), legs(hits, light), timeline(account, trace), ladder(trace.attempts));
    onceDrawn(() => {
      if (!controls.question().query.trim()) return; // the field was emptied meanwhile
      const whole = performance.measure("keystroke", { start: since, detail: server }).duration;
      const down = h("button", { type: "button", onclick: () => story.scrollIntoView() }, "How it went ↓");
      fill(speed, timing(whole, server), down);
    });
    announce(hits.length ? `${count(hits.length, nothing ? "weak candidate" : "note")} found` : nothing ? "nothing fits" : "nothing found");
  }

  async function welcome() {
    for (const each of [results, more, story, speed]) fill(each);
    try {
      const told = await stats();
      if (!controls.question().query.trim()) fill(notices, greeting(told));
    } catch (problem) {
      if (!controls.question().query.trim()) fill(notices, problemBox(problem, again));
    }
  }

  fill(main, h("h1", { class: "unseen" }, "Search"), controls.element, speed, fill(columns, h("div", {}, notices, results, more), story));
  controls.focus();
  search();
  return () => latest.cancel();
}

/** Give the focus back to a hit that had it and was drawn anew; if it is no hit any more, to the field. */
function refocus(results, focused, otherwise) {
  const id = focused.closest(".hit").dataset.note;
  const hit = [...results.children].find((each) => each.dataset.note === id);
  if (hit) hit.querySelector(focused.matches(".explain") ? ".explain" : "h2 a").focus({ preventScroll: true });
  else otherwise();
}

/** What is asked; as of now, which counts as reading nothing: a note is not recalled by passing a keystroke. */
function question(query, preset, mode) {
  return { query, trace: true, now: new Date().toISOString(), ...(preset && { preset }), ...(mode && { mode }) };
}

/** The notices above the hits; `shown` are the hits that are drawn, `showWeak` draws the weak ones. */
function told(data, query, shown, showWeak) {
  return [
    ...data.warnings.map((warning) => h("p", { class: "notice warning" }, warning)),
    data.excluded.length ? h("p", { class: "notice excluded" }, `excluding notes with: ${data.excluded.join(", ")}`) : null,
    data.explanation_data.notice ? h("p", { class: "notice" }, data.explanation_data.notice) : null,
    data.hits.length ? (data.has_answer ? null : nothingFits(data, query, shown.length > 0, showWeak)) : nothingFound(query),
  ];
}

function nothingFound(query) {
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, "Nothing found"),
    h("p", {}, `No note matches “${query}”. `, "Fewer words, or a part of one with a star (", h("code", {}, "kube*"), "), may find more."),
  );
}

/** There are hits, but none of them is likely to be an answer. */
function nothingFits({ hits, answer_threshold: threshold }, query, shown, showWeak) {
  if (shown) return h("p", { class: "notice warning" }, `Nothing in this memory fits “${query}”. These are weak candidates.`);
  const best = Math.max(...hits.map((hit) => hit.confidence ?? 0));
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, "Nothing in this memory fits"),
    h("p", {}, `The best candidate for “${query}” has a confidence of ${percent(best)}; an answer needs ${percent(threshold)}.`),
    h("button", { type: "button", onclick: showWeak }, `Show ${count(hits.length, "weak candidate")}`),
  );
}

function reading(account) {
  const told = account.query_summary.filter(({ label }) => !["query", "tried", "", "warning"].includes(label));
  return h("dl", { class: "reading" }, told.map(({ label, text }) => [h("dt", {}, label), h("dd", {}, text)]));
}

/** How long a keystroke took to become a result, and how much of that was the server's, if it says so. */
function timing(whole, { total, search }) {
  const key = [h("strong", {}, milliseconds(whole)), " from key to screen"];
  if (total === undefined || search === undefined) return key;
  return [
    ...key,
    " · ",
    h("strong", {}, milliseconds(total)),
    ` in the server, ${milliseconds(search)} of it the search`,
    h("span", { class: "share", "aria-hidden": "true" }, h("span", { style: { width: `${Math.min(100, (100 * total) / whole)}%` } })),
  ];
}

/** Call back when what was put into the page is on the screen: behind the frame that draws it. */
function onceDrawn(callback) {
  requestAnimationFrame(() => setTimeout(callback));
}

function greeting({ notes: held, embedder, right }) {
  const notes = namespace.get() ? held[namespace.get()] : Object.values(held).reduce((sum, each) => sum + each, 0);
  if (!notes) {
    return h(
      "div",
      { class: "empty" },
      h("h2", {}, "This memory is empty"),
      right === "read" ? h("p", {}, "There is nothing to search yet.") : h("p", {}, h("a", { href: "#/new" }, "Write a note"), ", or take in a folder: ", h("code", {}, "recollect ingest notes/")),
    );
  }
  const examples = [
    ["what does she drink?", "a question, in your words"],
    ['"green tea"', "these words, one behind the other"],
    ["tea NOT coffee", "one but not the other; AND and OR, too"],
    ["kube*", "words that begin so"],
    ["dentist last march", "when it was"],
  ];
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, `${count(notes, "note")} to search`),
    h("p", {}, `Embedder: ${embedder}`),
    h("dl", { class: "examples" }, examples.map(([typed, meant]) => [h("dt", {}, h("code", {}, typed)), h("dd", {}, meant)])),
  );
}
