// Formatting of names, numbers and times as text.

/** Descriptions of the steps of the fallback ladder; "initial" is the query itself. */
export const FALLBACK_STEPS = {
  initial: "the query",
  any_word: "any of its terms",
  strongest_term: "its strongest term",
  refreshed_sanitised: "without punctuation",
  refreshed_strongest: "strongest term, without punctuation",
  did_you_mean: "spelling corrected",
  trigram_fuzzy: "similar names of notes",
};

export function noteName(note) {
  return note.title || note.path || truncate(note.content.replace(/\s+/g, " ").trim(), 60) || note.id;
}

/** Return at most `length` characters; an emoji is one character. */
export function truncate(text, length) {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("").trimEnd()}…`;
}

export function milliseconds(value) {
  return value < 9.5 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString("en")} ms`;
}

export function score(value) {
  return Math.abs(value) >= 0.001 || value === 0 ? value.toFixed(4) : value.toPrecision(3);
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

const DAY = { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };

export function day(time) {
  return time ? new Date(time).toLocaleDateString("en-GB", DAY) : "";
}

export function minute(time) {
  return time ? `${new Date(time).toLocaleString("en-GB", { ...DAY, hour: "2-digit", minute: "2-digit" })} UTC` : "";
}

export function count(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
}

/** Return the parts of a text, with `mark` applied to the spans. Spans count code points, as the server does. */
export function markSpans(text, spans, mark) {
  const characters = Array.from(text);
  const parts = [];
  let last = 0;
  for (const [start, end] of spans) {
    parts.push(characters.slice(last, start).join(""), mark(characters.slice(start, end).join("")));
    last = end;
  }
  return [...parts, characters.slice(last).join("")];
}
