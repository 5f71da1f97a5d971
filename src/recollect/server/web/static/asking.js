// The field in which one asks, and how: which preset, by words, by meaning or by both.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { say } from "./places.js";

const MODES = { "": "words and meaning", bm25: "words alone", semantic: "meaning alone" };

let known = null;

/** Return the presets of the server, which do not change while it runs. */
export function presets() {
  known ??= get("/v1/presets").catch((problem) => {
    known = null;
    throw problem;
  });
  return known;
}

/** Return the field and its choices; `changed` is called at every keystroke. */
export function askingControls(asked, changed, { choosesPreset = true } = {}) {
  const field = h("input", {
    type: "search",
    id: "query",
    value: asked.get("q") ?? "",
    placeholder: "What do you want to remember?",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 4096,
    "aria-label": "Search",
    oninput: changed,
    onblur: say,
  });
  const mode = h(
    "select",
    { "aria-label": "Mode", onchange: changed },
    Object.entries(MODES).map(([value, name]) => h("option", { value, selected: value === (asked.get("mode") ?? "") }, name)),
  );
  const wanted = asked.get("preset") ?? "";
  const preset = h("select", { "aria-label": "Preset", onchange: changed }, h("option", { value: wanted }, wanted || "preset"));
  if (choosesPreset) presets().then((told) => fillPresets(preset, told, wanted), () => {});
  return {
    element: h("form", { class: "asking", role: "search", onsubmit: (event) => event.preventDefault() }, field, choosesPreset ? preset : null, mode),
    question: () => ({ query: field.value, preset: preset.value, mode: mode.value }),
    focus: () => field.focus(),
  };
}

function fillPresets(select, told, wanted) {
  fill(
    select,
    told.presets.map(({ name, about }) => {
      const usual = name === told.default;
      return h("option", { value: usual ? "" : name, title: about, selected: usual ? !wanted : name === wanted }, name);
    }),
  );
}
