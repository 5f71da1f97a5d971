// The form with the search field, the preset and the mode.

import { cached } from "./api.js";
import { fill, h } from "./dom.js";
import { flushQuery } from "./router.js";

const MODES = { "": "hybrid", bm25: "lexical only", semantic: "vector only" };

/** Return a promise of the server's presets, which do not change while the server runs. */
export const presets = cached("/v1/presets");

/** Return the form with the values of `query`, the URL's parameters; `onChange` is called at every keystroke. */
export function searchForm(query, onChange, { withPreset = true } = {}) {
  const field = h("input", {
    type: "search",
    id: "query",
    value: query.get("q") ?? "",
    placeholder: "Search the memory",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 4096,
    "aria-label": "Search",
    oninput: onChange,
    onblur: flushQuery,
  });
  const mode = h(
    "select",
    { "aria-label": "Mode", onchange: onChange },
    Object.entries(MODES).map(([value, name]) => h("option", { value, selected: value === (query.get("mode") ?? "") }, name)),
  );
  const chosenPreset = query.get("preset") ?? "";
  const preset = h("select", { "aria-label": "Preset", onchange: onChange }, h("option", { value: chosenPreset }, chosenPreset || "preset"));
  if (withPreset) presets().then((data) => fillPresets(preset, data, chosenPreset), () => {});
  return {
    element: h("form", { class: "search-form", role: "search", onsubmit: (event) => event.preventDefault() }, field, withPreset ? preset : null, mode),
    params: () => ({ query: field.value, preset: preset.value, mode: mode.value }),
    focus: () => field.focus(),
  };
}

function fillPresets(select, data, chosenPreset) {
  fill(
    select,
    data.presets.map(({ name, about }) => {
      const isDefault = name === data.default;
      return h("option", { value: isDefault ? "" : name, title: about, selected: isDefault ? !chosenPreset : name === chosenPreset }, name);
    }),
  );
}
