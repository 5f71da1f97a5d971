// Where one is: `#/search?q=tea`. What stands behind # never leaves the browser, so no log along the way holds a query.

/** Return the view and what it is about. */
export function place() {
  const [path, asked] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decoded);
  return { view: view || "search", rest, asked: new URLSearchParams(asked) };
}

/** An address that was typed or cut off may hold half an escape; then it says what it says. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return the address of a view. */
export function to(view, rest = [], asked = {}) {
  const path = [view, ...rest].map(encodeURIComponent).join("/");
  const kept = Object.entries(asked).filter(([, value]) => value);
  const query = kept.length ? `?${new URLSearchParams(kept)}` : "";
  return `#/${path}${query}`;
}

let timer = 0;
let unsaid = null;

/** Say in the address what is shown, once typing has paused, and without a new step for the back button. */
export function remember(view, asked) {
  clearTimeout(timer);
  unsaid = () => {
    if (place().view === view) history.replaceState(null, "", to(view, [], asked));
  };
  timer = setTimeout(say, 300);
}

/** Say it at once, before one goes elsewhere. */
export function say() {
  clearTimeout(timer);
  unsaid?.();
  unsaid = null;
}
