// What the page says about itself: problems in one line with a way on, and news for those who do not see the screen.

import { h } from "./dom.js";

let timer = 0;

/** Say something to a screen reader, once typing has paused. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => (document.getElementById("announcer").textContent = text), 600);
}

/** Return a problem as a box; `again`, where it is given, is what a button tries anew. `heading` is "h1" where it is all there is. */
export function problemBox(problem, again, heading = "h2") {
  const details = (problem.errors ?? []).filter(({ detail }) => !problem.message.includes(detail));
  return h(
    "div",
    { class: "problem", role: "alert" },
    h(heading, {}, title(problem)),
    h("p", {}, problem.message),
    details.length ? h("ul", {}, details.map(({ field, detail }) => h("li", {}, `${field}: ${detail}`))) : null,
    again ? h("button", { type: "button", onclick: again }, "Try again") : null,
  );
}

function title({ status }) {
  if (status === 0) return "No answer";
  if (status === 401) return "A key is needed";
  if (status === 403) return "Not with this key";
  if (status === 404) return "Not here";
  if (status === 429) return "Too fast";
  return status >= 500 ? "The server is in trouble" : "That did not work";
}
