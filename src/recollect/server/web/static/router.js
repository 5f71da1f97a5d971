// The URL of a view: `#/search?q=tea`. Browsers do not send what is behind #, so no log has a query.

/** Return the current view, its path parameters and its query parameters. */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decode);
  return { view: view || "search", rest, query: new URLSearchParams(query) };
}

/** Decode a path parameter; a URL that was cut off may end in half an escape. */
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

let timer = 0;
let pending = null;

/** Replace the query parameters of the current view once typing has paused, without a new history entry. */
export function replaceQuery(view, query) {
  clearTimeout(timer);
  pending = () => {
    if (currentRoute().view === view) history.replaceState(null, "", url(view, [], query));
  };
  timer = setTimeout(flushQuery, 300);
}

/** Replace them at once. */
export function flushQuery() {
  clearTimeout(timer);
  pending?.();
  pending = null;
}
