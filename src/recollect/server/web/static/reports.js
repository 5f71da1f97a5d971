// The reports of evaluations. A report is a page of its own; it is shown here inside a shadow, with its own style and
// without anything that could run.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { problemBox } from "./notices.js";
import { to } from "./places.js";
import { count, minute } from "./words.js";

/** What a report is made of; anything else in a file is left out. */
const KNOWN = new Set(
  "a b br caption circle code dd defs desc details div dl dt em figcaption figure footer g h1 h2 h3 h4 header hr i li line main ol p path polygon polyline pre rect section small span strong summary svg table tbody td text tfoot th thead title tr tspan ul".split(" "),
);

const policy = window.trustedTypes?.createPolicy("recollect-report", { createHTML: (text) => text });

/** Show the list, or the report that the address names; the result is what to do when it is left. */
export async function reportsView(main, { rest: [name] }) {
  const left = new AbortController();
  try {
    if (name) fill(main, h("p", {}, h("a", { href: to("reports") }, "← All reports")), await report(name, left.signal));
    else fill(main, h("h1", {}, "Reports"), list((await get("/v1/reports")).reports));
  } catch (problem) {
    fill(main, problemBox(problem, undefined, "h1"));
  }
  return () => left.abort();
}

function list(reports) {
  if (!reports.length) {
    return h(
      "div",
      { class: "empty" },
      h("h2", {}, "No reports yet"),
      h("p", {}, "Measure presets against each other and keep what came of it: ", h("code", {}, "recollect eval DATA --report reports/mine.html"), ", then ", h("code", {}, "recollect serve --reports reports/"), "."),
    );
  }
  return h(
    "ul",
    { class: "listing" },
    reports.map(({ name, title, changed_at: changed, bytes }) =>
      h("li", {}, h("a", { href: to("reports", [name]) }, title || name), h("span", { class: "path" }, name), h("time", { datetime: changed }, minute(changed)), h("p", {}, count(Math.round(bytes / 1024), "kB", "kB"))),
    ),
  );
}

async function report(name, signal) {
  const text = await get(`/v1/reports/${encodeURIComponent(name)}`);
  // The policy of the page knows no style in a text, so that of the report is taken out of it before it is read.
  const styles = [];
  const bare = text.replace(/<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi, (whole, style) => (styles.push(style), ""));
  const read = new DOMParser().parseFromString(policy ? policy.createHTML(bare) : bare, "text/html");
  for (const each of read.body.querySelectorAll("*")) if (!KNOWN.has(each.localName)) each.remove();
  for (const each of read.querySelectorAll("main")) each.replaceWith(h("div", { class: "main" }, [...each.childNodes]));
  for (const each of read.body.querySelectorAll("*")) {
    for (const { name: attribute, value } of [...each.attributes]) {
      const leads = attribute.endsWith("href") && !value.startsWith("#");
      if (attribute.startsWith("on") || attribute === "style" || leads) each.removeAttribute(attribute);
    }
  }
  const frame = h("section", { class: "report", "aria-label": read.title || name });
  const shadow = frame.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  // A page has one body and one main, and this one has its own.
  const style = styles.join("\n").replaceAll(":root", ":host").replace(/(^|[\s,{}])(body|main)(?=[\s,{.:])/g, "$1.$2");
  const dress = () => sheet.replaceSync(inColours(style));
  dress();
  window.addEventListener("theme-changed", dress, { signal });
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(h("div", { class: "body" }, [...read.body.childNodes].map((node) => document.importNode(node, true))));
  shadow.addEventListener("click", (event) => jump(event, shadow));
  return frame;
}

/** What leads to another place of the report scrolls there; the address stays what it is. */
function jump(event, shadow) {
  const target = event.target.closest?.("a")?.getAttribute("href");
  if (!target?.startsWith("#")) return;
  event.preventDefault();
  shadow.getElementById(target.slice(1))?.scrollIntoView({ behavior: "smooth" });
}

/** Where one chose light or dark, a report does not go by the system. */
function inColours(style) {
  const chosen = document.documentElement.dataset.theme;
  if (!chosen) return style;
  return style.replace(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/g, (_, scheme) => (scheme === chosen ? "(min-width: 0)" : "(max-width: 0)"));
}
