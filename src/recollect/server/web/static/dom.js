// Functions that create and change elements. Text is always inserted as text, never as markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Return an HTML element (h as in hyperscript): `on…` are listeners, `style` has properties, false omits an attribute. */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isPresent));
  return element;
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(isPresent));
  return element;
}

function isPresent(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

/** Return what a view shows instead of content: a heading and what to do. */
export function emptyBox(title, ...children) {
  return h("div", { class: "empty" }, h("h2", {}, title), children);
}

/** Highlight all elements of the note with this id in `containers`; null removes the highlight. */
export function highlightNote(containers, id) {
  for (const container of containers) {
    container.classList.toggle("has-highlight", id !== null);
    for (const element of container.querySelectorAll("[data-note]")) element.classList.toggle("highlighted", element.dataset.note === id);
  }
}

let announceTimer = 0;

/** Announce a text to screen readers after a pause, so that fast typing causes one announcement. */
export function announce(text) {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => (document.getElementById("announcer").textContent = text), 600);
}

/** Return a problem as an alert; `retry` adds a button, `heading` is "h1" if the view shows nothing else. */
export function problemBox(problem, retry, heading = "h2") {
  const details = (problem.errors ?? []).filter(({ detail }) => !problem.message.includes(detail));
  return h(
    "div",
    { class: "problem", role: "alert" },
    h(heading, {}, problemTitle(problem)),
    h("p", {}, problem.message),
    details.length ? h("ul", {}, details.map(({ field, detail }) => h("li", {}, `${field}: ${detail}`))) : null,
    retry ? h("button", { type: "button", onclick: retry }, "Try again") : null,
  );
}

function problemTitle({ status }) {
  const titles = { 0: "No response from Recollect", 401: "A key is required", 403: "Not allowed with this key", 404: "Not found", 429: "Too many requests" };
  return titles[status] ?? (status >= 500 ? "Server error" : "That did not work");
}
