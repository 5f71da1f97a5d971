// Evaluation reports. A report is shown in a shadow root, with its own style and without scripts.

import { get } from "./api.js";
import { fill, h, problemBox } from "./dom.js";
import { count, minute } from "./format.js";
import { url } from "./router.js";

/** Elements of a report; all others are removed. */
const ALLOWED = new Set(
  "a b br caption circle code dd defs desc details div dl dt em figcaption figure footer g h1 h2 h3 h4 header hr i li line main ol p path polygon polyline pre rect section small span strong summary svg table tbody td text tfoot th thead title tr tspan ul".split(" "),
);

const policy = window.trustedTypes?.createPolicy("recollect-report", { createHTML: (text) => text });

/** Show the list or one report; the returned function is called when the view is left. */
export async function reportsView(main, { rest: [name] }) {
  const controller = new AbortController();
  try {
    if (name) fill(main, h("p", {}, h("a", { href: url("reports") }, "← All reports")), await report(name, controller.signal));
    else fill(main, h("h1", {}, "Reports"), list((await get("/v1/reports")).reports));
  } catch (problem) {
    fill(main, problemBox(problem, undefined, "h1"));
  }
  return () => controller.abort();
}

function list(reports) {
  if (!reports.length) {
    return h(
      "div",
      { class: "empty" },
      h("h2", {}, "No reports yet"),
      h("p", {}, "Evaluate presets and save a report: ", h("code", {}, "recollect eval DATA --report reports/mine.html"), ", then ", h("code", {}, "recollect serve --reports reports/"), "."),
    );
  }
  return h(
    "ul",
    { class: "listing" },
    reports.map(({ name, title, changed_at: changed, bytes }) =>
      h("li", {}, h("a", { href: url("reports", [name]) }, title || name), h("span", { class: "path" }, name), h("time", { datetime: changed }, minute(changed)), h("p", {}, count(Math.round(bytes / 1024), "kB", "kB"))),
    ),
  );
}

async function report(name, signal) {
  const text = await get(`/v1/reports/${encodeURIComponent(name)}`);
  // The Content-Security-Policy forbids style elements, so styles are extracted before parsing.
  const styles = [];
  const unstyled = text.replace(/<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi, (whole, style) => (styles.push(style), ""));
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(unstyled) : unstyled, "text/html");
  for (const element of parsed.body.querySelectorAll("*")) if (!ALLOWED.has(element.localName)) element.remove();
  for (const element of parsed.querySelectorAll("main")) element.replaceWith(h("div", { class: "main" }, [...element.childNodes]));
  for (const element of parsed.body.querySelectorAll("*")) {
    for (const { name: attribute, value } of [...element.attributes]) {
      const isExternal = attribute.endsWith("href") && !value.startsWith("#");
      if (attribute.startsWith("on") || attribute === "style" || isExternal) element.removeAttribute(attribute);
    }
  }
  const frame = h("section", { class: "report", "aria-label": parsed.title || name });
  const shadow = frame.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  // The document has a body and a main of its own, so those of the report become classes.
  const style = styles.join("\n").replaceAll(":root", ":host").replace(/(^|[\s,{}])(body|main)(?=[\s,{.:])/g, "$1.$2");
  const applyStyle = () => sheet.replaceSync(withChosenTheme(style));
  applyStyle();
  window.addEventListener("theme-changed", applyStyle, { signal });
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(h("div", { class: "body" }, [...parsed.body.childNodes].map((node) => document.importNode(node, true))));
  shadow.addEventListener("click", (event) => scrollToTarget(event, shadow));
  return frame;
}

/** Scroll to a link target within the report; the URL stays. */
function scrollToTarget(event, shadow) {
  const target = event.target.closest?.("a")?.getAttribute("href");
  if (!target?.startsWith("#")) return;
  event.preventDefault();
  shadow.getElementById(target.slice(1))?.scrollIntoView({ behavior: "smooth" });
}

/** Let a report follow the chosen theme instead of the system. */
function withChosenTheme(style) {
  const chosen = document.documentElement.dataset.theme;
  if (!chosen) return style;
  return style.replace(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/g, (_, scheme) => (scheme === chosen ? "(min-width: 0)" : "(max-width: 0)"));
}
