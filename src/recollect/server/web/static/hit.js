// One hit: what it says, its confidence, where both legs had it, and on demand why it stands where it stands.

import { h } from "./dom.js";
import { to } from "./places.js";
import { strip, waterfall } from "./waterfall.js";
import { day, figure, marked, nameOf, percent, shortened } from "./words.js";

/** Return the hit as an element; `told` is its waterfall, `open` whether that is shown, `toggled` hears of changes. */
export function hitCard(hit, told, scale, { open, toggled, light, weak = false }) {
  const shown = `why-${hit.rank}`;
  const why = h("div", { id: shown, class: "why", hidden: !open });
  if (open) why.append(waterfall(hit, told, scale));
  const button = h(
    "button",
    {
      type: "button",
      class: "explain",
      "aria-expanded": String(open),
      "aria-controls": shown,
      "aria-label": `Why ${nameOf(hit)} has ${figure(hit.score)}`,
      onclick: () => {
        const now = why.hidden;
        if (now && !why.firstChild) why.append(waterfall(hit, told, scale));
        why.hidden = !now;
        button.setAttribute("aria-expanded", String(now));
        toggled(hit.id, now);
      },
    },
    h("span", { class: "label" }, "Why"),
    strip(told, scale),
    h("span", { class: "number" }, figure(hit.score)),
  );
  return h(
    "li",
    { class: weak ? "hit weak" : "hit", "data-note": hit.id, onmouseenter: () => light(hit.id), onmouseleave: () => light(null) },
    h("span", { class: "rank", "aria-hidden": "true" }, String(hit.rank)),
    h(
      "article",
      {},
      h("h2", {}, h("a", { href: to("note", [hit.id]), onfocus: () => light(hit.id), onblur: () => light(null) }, shortened(nameOf(hit), 200))),
      hit.path && hit.path !== nameOf(hit) ? h("p", { class: "path" }, hit.path) : null,
      h("p", { class: "snippet" }, marked(hit.snippet, hit.highlights, (text) => h("mark", {}, text))),
      h("p", { class: "facts" }, weak ? h("span", { class: "chip weak" }, "weak") : null, facts(hit)),
      button,
      why,
    ),
  );
}

function facts(hit) {
  return [
    hit.confidence === null
      ? null
      : h("span", { class: "sure", title: "Confidence: the probability that the note answers the query" }, meter(hit.confidence), `${percent(hit.confidence)} confidence`),
    rank("lexical", "words", hit.lexical_rank, hit.lexical_score, "BM25"),
    rank("vector", "meaning", hit.vector_rank, hit.vector_similarity, "cosine"),
    hit.superseded_by.length ? h("span", { class: "chip replaced" }, "replaced") : null,
    hit.session ? h("span", { class: "chip" }, `${hit.session}${hit.position === null ? "" : ` · ${hit.position}`}`) : null,
    hit.tags.map((tag) => h("span", { class: "chip tag" }, `#${tag}`)),
    hit.created_at ? h("time", { datetime: hit.created_at }, day(hit.created_at)) : null,
  ];
}

function rank(kind, name, place, score, unit) {
  if (!place) return h("span", { class: `chip ${kind} missing` }, `${name} –`);
  return h("span", { class: `chip ${kind}`, title: `${unit} ${score.toPrecision(4)}` }, `${name} #${place}`);
}

function meter(share) {
  return h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * share}%` } }));
}
