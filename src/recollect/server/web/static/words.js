// How names, numbers and times are said.

/** What the legs are called for people. */
export const LEGS = { lexical: "words", vector: "meaning", graph: "connections" };

/** What the rungs of the retry ladder do. */
export const RUNGS = {
  initial: "as it was asked",
  any_word: "any of its words",
  strongest_term: "its strongest word",
  refreshed_sanitised: "without its signs",
  refreshed_strongest: "the strongest word, without signs",
  did_you_mean: "spelt as in the notes",
  trigram_fuzzy: "names of notes that look alike",
};

export function leg(name) {
  return LEGS[name] ?? name;
}

export function nameOf(note) {
  return note.title || note.path || shortened(note.content.replace(/\s+/g, " ").trim(), 60) || note.id;
}

/** Return at most so many characters; a character is what a reader would call one, not half of an emoji. */
export function shortened(text, most) {
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("").trimEnd()}…`;
}

export function milliseconds(value) {
  if (value < 0.95) return `${value.toFixed(1)} ms`;
  return value < 9.5 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString("en")} ms`;
}

export function figure(value) {
  return Math.abs(value) >= 0.001 || value === 0 ? value.toFixed(4) : value.toPrecision(3);
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

export function day(moment) {
  if (!moment) return "";
  const options = { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };
  return new Date(moment).toLocaleDateString("en-GB", options);
}

export function minute(moment) {
  if (!moment) return "";
  const options = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" };
  return `${new Date(moment).toLocaleString("en-GB", options)} UTC`;
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Return a text in which the spans are marked; spans count characters, as the server does. */
export function marked(text, spans, mark) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [from, to] of spans) {
    parts.push(characters.slice(at, from).join(""), mark(characters.slice(from, to).join("")));
    at = to;
  }
  return [...parts, characters.slice(at).join("")];
}
