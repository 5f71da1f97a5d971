// The views of evaluation reports. A report is shown in a shadow root, with its own style and without scripts.

import { get } from "./api.js";
import { emptyBox, fill, h, problemBox } from "./dom.js";
import { count, minute } from "./format.js";
import { url } from "./router.js";

/** Elements that a report may contain; all others are removed. */
const ALLOWED_ELEMENTS = new Set(
  "a b br caption circle code dd defs desc details div dl dt em figcaption figure footer g h1 h2 h3 h4 header hr i li line main ol p path polygon polyline pre rect section small span strong summary svg table tbody td text tfoot th thead title tr tspan ul".split(" "),
);

const STYLE_ELEMENT = /<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi;
const policy = window.trustedTypes?.createPolicy("recollect-report", { createHTML: (text) => text });

/** Show one report, or the list of reports; the returned function is called when the view is left. */
export async function reportsView(main, { rest: [name] }) {
  const controller = new AbortController();
  try {
    if (name) fill(main, h("p", {}, h("a", { href: url("reports") }, "← All reports")), await loadReport(name, controller.signal));
    else fill(main, h("h1", {}, "Reports"), reportList((await get("/v1/reports")).reports));
  } catch (problem) {
    fill(main, problemBox(problem, undefined, "h1"));
  }
  return () => controller.abort();
}

function reportList(reports) {
  if (!reports.length) {
    return emptyBox(
      "No reports yet",
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

/** Return a report as an element; `signal` ends its listener for the theme. */
async function loadReport(name, signal) {
  const text = await get(`/v1/reports/${encodeURIComponent(name)}`);
  // The Content-Security-Policy forbids style elements, so styles are extracted before parsing.
  const styles = [...text.matchAll(STYLE_ELEMENT)].map(([, style]) => style);
  const unstyled = text.replaceAll(STYLE_ELEMENT, "");
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(unstyled) : unstyled, "text/html");
  for (const element of parsed.body.querySelectorAll("*")) if (!ALLOWED_ELEMENTS.has(element.localName)) element.remove();
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
  // The page has its own body and main, so the report's selectors `body` and `main` become classes.
  const style = styles.join("\n").replaceAll(":root", ":host").replace(/(^|[\s,{}])(body|main)(?=[\s,{.:])/g, "$1.$2");
  const applyStyle = () => sheet.replaceSync(withChosenTheme(style));
  applyStyle();
  window.addEventListener("theme-changed", applyStyle, { signal });
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(h("div", { class: "body" }, [...parsed.body.childNodes].map((node) => document.importNode(node, true))));
  shadow.addEventListener("click", (event) => scrollToTarget(event, shadow));
  return frame;
}

/** Scroll to the target of a link within the report; the URL does not change. */
function scrollToTarget(event, shadow) {
  const target = event.target.closest?.("a")?.getAttribute("href");
  if (!target?.startsWith("#")) return;
  event.preventDefault();
  shadow.getElementById(target.slice(1))?.scrollIntoView({ behavior: "smooth" });
}

/** Return a style that follows the chosen theme instead of the system's: its media queries become true or false. */
function withChosenTheme(style) {
  const chosen = document.documentElement.dataset.theme;
  if (!chosen) return style;
  return style.replace(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/g, (_, scheme) => (scheme === chosen ? "(min-width: 0)" : "(max-width: 0)"));
}
