// URLs of views: `#/search?q=tea`. Browsers do not send the part after #, so no server logs a query.

/** Return `{ view, rest, query }`: the name of the view, the other parts of the path, and the query parameters. */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decode);
  return { view: view || "search", rest, query: new URLSearchParams(query) };
}

/** Decode a part of the path; return it as it is if it has an incomplete escape. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return the URL of a view. */
export function url(view, rest = [], query = {}) {
  const path = [view, ...rest].map(encodeURIComponent).join("/");
  const parameters = Object.entries(query).filter(([, value]) => value);
  return `#/${path}${parameters.length ? `?${new URLSearchParams(parameters)}` : ""}`;
}

let replaceTimer = 0;
let replacePending = null;

/** Replace the query parameters of the current view once typing has paused, without a new history entry. */
export function replaceQuery(view, query) {
  clearTimeout(replaceTimer);
  replacePending = () => {
    if (currentRoute().view === view) history.replaceState(null, "", url(view, [], query));
  };
  replaceTimer = setTimeout(flushQuery, 300);
}

/** Carry out a pending replacement now. */
export function flushQuery() {
  clearTimeout(replaceTimer);
  replacePending?.();
  replacePending = null;
}
