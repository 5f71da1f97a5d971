// Requests to the server, with key and namespace; their errors and times.

const STATS = "/v1/stats";

/** An error response; `status` is 0 if the server does not respond, `errors` are the invalid fields. */
export class Problem extends Error {
  constructor(status, detail, errors = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** Return a text that is stored for this tab only; it is empty if it is not set. */
const sessionText = (name) => ({
  get: () => sessionStorage.getItem(name) ?? "",
  set: (value) => (value ? sessionStorage.setItem(name, value) : sessionStorage.removeItem(name)),
});

export const key = sessionText("recollect.key");
export const namespace = sessionText("recollect.namespace");

/** Send a request and return `{ data, server }`: the JSON of the response and the server's times in milliseconds. If the
 * server rejects the key (401), dispatch "key-needed". */
export async function request(method, path, { parameters = {}, body, signal } = {}) {
  const url = new URL(path, location.origin);
  if (namespace.get() && path !== STATS) url.searchParams.set("namespace", namespace.get());
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  const headers = {};
  const sentKey = key.get();
  if (sentKey) headers.Authorization = `Bearer ${sentKey}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not respond. Is `recollect serve` still running?");
  }
  const data = await readBody(response, path);
  if (!response.ok) throw toProblem(response, data, sentKey);
  return { data, server: serverTimes(response.headers.get("Server-Timing")) };
}

export const get = async (path, options) => (await request("GET", path, options)).data;

/** Return JSON as data; the HTML of a report as text; null if the response has no body. */
async function readBody(response, path) {
  if (response.status === 204) return null;
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("json")) return response.json();
  if (response.ok && !path.startsWith("/v1/reports/")) throw new Problem(0, "The response is not from Recollect; a proxy may require a login.");
  return response.text();
}

function toProblem(response, data, sentKey) {
  const problem = new Problem(response.status, data?.detail ?? response.statusText, data?.errors ?? []);
  // A late response to a request with an earlier key says nothing about the current key.
  if (response.status === 401 && sentKey === key.get()) window.dispatchEvent(new CustomEvent("key-needed", { detail: problem.message }));
  return problem;
}

/** Parse a Server-Timing header, `total;dur=4.2, search;dur=3.1`, as milliseconds by name. */
function serverTimes(header) {
  const times = {};
  for (const part of (header ?? "").split(",")) {
    const match = /^\s*([\w-]+);dur=([\d.]+)/.exec(part);
    if (match) times[match[1]] = Number(match[2]);
  }
  return times;
}

/** Return a function that sends one GET request and caches the promise of its data, until it fails or `clear` is called. */
export function cached(path) {
  let promise = null;
  const clear = () => (promise = null);
  const load = () => (promise ??= get(path).catch((problem) => {
    clear();
    throw problem;
  }));
  return Object.assign(load, { clear });
}

export const stats = cached(STATS);

export async function mayWrite() {
  return (await stats()).right !== "read";
}

/** A running request is aborted after this many milliseconds if a newer one is pending. */
const ABORT_AFTER_MS = 250;
/** Outdated results are dimmed after this many milliseconds. */
const DIM_AFTER_MS = 200;

/** Runs one request at a time and keeps only the newest pending request, so that fast typing makes no queue. An old
 * response never replaces a newer one. */
export class LatestRequest {
  #send;
  #show;
  #fail;
  #setOutdated;
  #newestNumber = 0;
  #shownNumber = 0;
  #dimTimer = 0;
  #pending = null;
  #running = null;

  /** `send(params, signal)` returns a promise; `show(response, params)` gets responses that are not outdated;
   * `setOutdated` is called with true if the newest request takes long, and with false when it is complete. */
  constructor(send, show, fail, setOutdated = () => {}) {
    this.#send = send;
    this.#show = show;
    this.#fail = fail;
    this.#setOutdated = setOutdated;
  }

  submit(params) {
    this.#pending = { params, number: ++this.#newestNumber };
    this.#dimTimer ||= setTimeout(() => this.#setOutdated(true), DIM_AFTER_MS);
    if (!this.#running) this.#sendPending();
    else this.#abortSoon(this.#running);
  }

  /** Drop running and pending requests. */
  cancel() {
    this.#newestNumber += 1;
    this.#shownNumber = this.#newestNumber;
    this.#pending = null;
    this.#running?.abort();
    this.#settle();
  }

  #settle() {
    clearTimeout(this.#dimTimer);
    this.#dimTimer = 0;
    this.#setOutdated(false);
  }

  #abortSoon(running) {
    const remaining = ABORT_AFTER_MS - (performance.now() - running.started);
    clearTimeout(running.timer);
    running.timer = setTimeout(() => running.abort(), Math.max(0, remaining));
  }

  async #sendPending() {
    const { params, number } = this.#pending;
    this.#pending = null;
    const running = new AbortController();
    running.started = performance.now();
    this.#running = running;
    try {
      const response = await this.#send(params, running.signal);
      if (number > this.#shownNumber) {
        this.#shownNumber = number;
        if (number === this.#newestNumber) this.#settle();
        this.#show(response, params);
      }
    } catch (error) {
      if (error.name !== "AbortError" && number === this.#newestNumber) {
        this.#settle();
        this.#fail(error, params);
      }
    } finally {
      clearTimeout(running.timer);
      this.#running = null;
      if (this.#pending) this.#sendPending();
    }
  }
}
