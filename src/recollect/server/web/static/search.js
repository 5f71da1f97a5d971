// The view that searches at every keystroke: hits on one side, details of the search on the other.

import { LatestRequest, namespace, request, stats } from "./api.js";
import { fallbackLadder, legsChart, scoreBar, timeline, waterfallTable } from "./charts.js";
import { announce, emptyBox, fill, h, highlightNote, problemBox } from "./dom.js";
import { count, day, markSpans, milliseconds, noteName, percent, score, truncate } from "./format.js";
import { replaceQuery, url } from "./router.js";
import { searchForm } from "./search-form.js";

/** Show the view; the returned function is called when the view is left. */
export function searchView(main, { query: initial }) {
  const openIds = new Set(); // hits whose waterfall is shown
  let weakShownFor = null; // the query whose weak candidates are shown
  const results = h("ol", { class: "hits" });
  const more = h("p", { class: "more" });
  const notices = h("div", { class: "notices" });
  const timing = h("p", { class: "timing" });
  const columns = h("div", { class: "columns" });
  const details = h("aside", { class: "details", "aria-label": "Search details", tabindex: "0" });

  const latest = new LatestRequest(
    ({ query, preset, mode }, signal) => request("POST", "/v1/search", { signal, body: searchBody(query, preset, mode) }),
    (response, params) => show(response, params),
    (problem) => {
      for (const element of [results, more, details, timing]) fill(element);
      fill(notices, problemBox(problem, retry));
    },
    (outdated) => {
      columns.classList.toggle("outdated", outdated);
      columns.setAttribute("aria-busy", String(outdated));
      if (outdated) fill(timing, "searching…");
    },
  );
  const form = searchForm(initial, search);

  /** Focus the field, since the button that was pressed disappears with the problem. */
  function retry() {
    form.focus();
    search();
  }

  function search() {
    const params = { ...form.params(), started: performance.now() };
    replaceQuery("search", { q: params.query, preset: params.preset, mode: params.mode });
    if (params.query.trim()) latest.submit(params);
    else {
      latest.cancel();
      showWelcome();
    }
  }

  function show({ data, server }, { query, started }) {
    const { explanation_data: explained, trace } = data;
    const noAnswer = data.hits.length > 0 && !data.has_answer;
    const hits = weakShownFor === query ? data.hits : data.hits.filter((hit) => !hit.weak);
    const hiddenCount = data.hits.length - hits.length;
    const waterfalls = new Map(explained.waterfalls.map((waterfall) => [waterfall.id, waterfall]));
    const showWeak = () => {
      weakShownFor = query;
      show({ data, server }, { query, started: performance.now() });
      results.querySelector(".hit.weak h2 a").focus();
    };
    const highlight = (id) => highlightNote([results, details], id);
    const onToggle = (id, isOpen) => (isOpen ? openIds.add(id) : openIds.delete(id));
    const focused = results.contains(document.activeElement) ? document.activeElement : null;
    fill(notices, searchNotices(data, query, hits.length > 0, showWeak));
    fill(
      results,
      hits.map((hit) => hitCard(hit, waterfalls.get(hit.id), explained.max_score, { isOpen: openIds.has(hit.id), onToggle, highlight })),
    );
    fill(more, hiddenCount && !noAnswer ? h("button", { type: "button", onclick: showWeak }, `Show ${count(hiddenCount, "weak candidate")}`) : null);
    if (focused) restoreFocus(results, focused, form.focus);
    fill(details, parsedQuery(explained), legsChart(hits, highlight), timeline(explained, trace), fallbackLadder(trace.attempts));
    afterPaint(() => {
      if (!form.params().query.trim()) return; // the field was emptied meanwhile
      const total = performance.measure("keystroke", { start: started, detail: server }).duration;
      fill(timing, timingText(total, server), h("button", { type: "button", onclick: () => details.scrollIntoView() }, "Details ↓"));
    });
    if (hits.length) announce(`${count(hits.length, noAnswer ? "weak candidate" : "note")} found`);
    else announce(noAnswer ? "no answer" : "nothing found");
  }

  async function showWelcome() {
    for (const element of [results, more, details, timing]) fill(element);
    try {
      const data = await stats();
      if (!form.params().query.trim()) fill(notices, welcome(data));
    } catch (problem) {
      if (!form.params().query.trim()) fill(notices, problemBox(problem, retry));
    }
  }

  fill(main, h("h1", { class: "visually-hidden" }, "Search"), form.element, timing, fill(columns, h("div", {}, notices, results, more), details));
  form.focus();
  search();
  return () => latest.cancel();
}

/** Focus the hit that was focused before all hits were rendered again, or the field if the hit is gone. */
function restoreFocus(results, focused, focusField) {
  const id = focused.closest(".hit").dataset.note;
  const hit = [...results.children].find((element) => element.dataset.note === id);
  if (hit) hit.querySelector(focused.matches(".explain") ? ".explain" : "h2 a").focus({ preventScroll: true });
  else focusField();
}

/** Return the body of a search request; with `now`, the server records no access to the hits. */
function searchBody(query, preset, mode) {
  return { query, trace: true, now: new Date().toISOString(), ...(preset && { preset }), ...(mode && { mode }) };
}

function searchNotices(data, query, hasShownHits, showWeak) {
  return [
    ...data.warnings.map((warning) => h("p", { class: "notice warning" }, warning)),
    data.excluded.length ? h("p", { class: "notice excluded" }, `excluding notes with: ${data.excluded.join(", ")}`) : null,
    data.explanation_data.notice ? h("p", { class: "notice" }, data.explanation_data.notice) : null,
    data.hits.length ? null : noHitsNotice(query),
    data.hits.length && !data.has_answer ? noAnswerNotice(data, query, hasShownHits, showWeak) : null,
  ];
}

function noHitsNotice(query) {
  return emptyBox("Nothing found", h("p", {}, `No note matches “${query}”. `, "Try fewer words, or a prefix with a star (", h("code", {}, "kube*"), ")."));
}

function noAnswerNotice({ hits, answer_threshold: threshold }, query, hasShownHits, showWeak) {
  if (hasShownHits) return h("p", { class: "notice warning" }, `No note answers “${query}”. These are weak candidates.`);
  const best = Math.max(...hits.map((hit) => hit.confidence ?? 0));
  return emptyBox(
    "No answer in this memory",
    h("p", {}, `The best candidate for “${query}” has a confidence of ${percent(best)}; an answer needs ${percent(threshold)}.`),
    h("button", { type: "button", onclick: showWeak }, `Show ${count(hits.length, "weak candidate")}`),
  );
}

function parsedQuery(explained) {
  const lines = explained.query_summary.filter(({ label }) => !["query", "tried", "", "warning"].includes(label));
  return h("dl", { class: "parsed-query" }, lines.map(({ label, text }) => [h("dt", {}, label), h("dd", {}, text)]));
}

/** Return the time from keystroke to screen, and the server's part of it if the server sent its times. */
function timingText(total, { total: server, search }) {
  const totalText = [h("strong", {}, milliseconds(total)), " from keystroke to screen"];
  if (server === undefined || search === undefined) return totalText;
  return [
    ...totalText,
    " · ",
    h("strong", {}, milliseconds(server)),
    ` in the server, ${milliseconds(search)} of it the search`,
    h("span", { class: "share", "aria-hidden": "true" }, h("span", { style: { width: `${Math.min(100, (100 * server) / total)}%` } })),
  ];
}

/** Call back after the next frame is on the screen. */
function afterPaint(callback) {
  requestAnimationFrame(() => setTimeout(callback));
}

function welcome({ notes: byNamespace, embedder, right }) {
  const notes = namespace.get() ? byNamespace[namespace.get()] : Object.values(byNamespace).reduce((sum, number) => sum + number, 0);
  if (!notes) {
    const advice = right === "read" ? ["There is nothing to search yet."] : [h("a", { href: "#/new" }, "Write a note"), ", or ingest a folder: ", h("code", {}, "recollect ingest notes/")];
    return emptyBox("This memory is empty", h("p", {}, advice));
  }
  const examples = [
    ["what does she drink?", "a question"],
    ['"green tea"', "a phrase"],
    ["tea NOT coffee", "exclusion; AND and OR work, too"],
    ["kube*", "a prefix"],
    ["dentist last march", "a time"],
  ];
  return emptyBox(
    `${count(notes, "note")} to search`,
    h("p", {}, `Embedder: ${embedder}`),
    h("dl", { class: "examples" }, examples.map(([query, meaning]) => [h("dt", {}, h("code", {}, query)), h("dd", {}, meaning)])),
  );
}

/** Return a hit; `isOpen` is whether its waterfall is shown, `onToggle(id, isOpen)` is called when that changes. */
function hitCard(hit, waterfall, scale, { isOpen, onToggle, highlight }) {
  const panelId = `why-${hit.rank}`;
  const panel = h("div", { id: panelId, class: "why", hidden: !isOpen });
  if (isOpen) panel.append(waterfallTable(hit, waterfall, scale));
  const button = h(
    "button",
    {
      type: "button",
      class: "explain",
      "aria-expanded": String(isOpen),
      "aria-controls": panelId,
      "aria-label": `Why ${noteName(hit)} scores ${score(hit.score)}`,
      onclick: () => {
        const opens = panel.hidden;
        if (opens && !panel.firstChild) panel.append(waterfallTable(hit, waterfall, scale));
        panel.hidden = !opens;
        button.setAttribute("aria-expanded", String(opens));
        onToggle(hit.id, opens);
      },
    },
    h("span", { class: "label" }, "Why"),
    scoreBar(waterfall, scale),
    h("span", { class: "number" }, score(hit.score)),
  );
  return h(
    "li",
    { class: hit.weak ? "hit weak" : "hit", "data-note": hit.id, onmouseenter: () => highlight(hit.id), onmouseleave: () => highlight(null) },
    h("span", { class: "rank", "aria-hidden": "true" }, String(hit.rank)),
    h(
      "article",
      {},
      h("h2", {}, h("a", { href: url("note", [hit.id]), onfocus: () => highlight(hit.id), onblur: () => highlight(null) }, truncate(noteName(hit), 200))),
      hit.path && hit.path !== noteName(hit) ? h("p", { class: "path" }, hit.path) : null,
      h("p", { class: "snippet" }, markSpans(hit.snippet, hit.highlights, (text) => h("mark", {}, text))),
      h("p", { class: "facts" }, hit.weak ? h("span", { class: "chip weak" }, "weak") : null, facts(hit)),
      button,
      panel,
    ),
  );
}

function facts(hit) {
  return [
    hit.confidence === null
      ? null
      : h("span", { class: "confidence", title: "The probability that the note answers the query" }, meter(hit.confidence), `${percent(hit.confidence)} confidence`),
    legChip("lexical", hit.lexical_rank, hit.lexical_score, "BM25"),
    legChip("vector", hit.vector_rank, hit.vector_similarity, "cosine"),
    hit.superseded_by.length ? h("span", { class: "chip superseded" }, "superseded") : null,
    hit.session ? h("span", { class: "chip" }, `${hit.session}${hit.position === null ? "" : ` · ${hit.position}`}`) : null,
    hit.tags.map((tag) => h("span", { class: "chip tag" }, `#${tag}`)),
    hit.created_at ? h("time", { datetime: hit.created_at }, day(hit.created_at)) : null,
  ];
}

function legChip(leg, rank, value, unit) {
  if (!rank) return h("span", { class: `chip ${leg} missing` }, `${leg} –`);
  return h("span", { class: `chip ${leg}`, title: `${unit} ${value.toPrecision(4)}` }, `${leg} #${rank}`);
}

function meter(share) {
  return h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * share}%` } }));
}
