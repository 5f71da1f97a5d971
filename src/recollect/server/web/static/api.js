// Requests to the server: key, namespace, timing, errors.

const KEY = "recollect.key";
const NAMESPACE = "recollect.namespace";
const STATS = "/v1/stats";

/** An error with a message for a person; `status` is 0 if the server does not answer. */
export class Problem extends Error {
  constructor(status, detail, errors = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** The key is stored for this tab only. */
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

export const namespace = {
  get: () => sessionStorage.getItem(NAMESPACE) ?? "",
  set: (value) => (value ? sessionStorage.setItem(NAMESPACE, value) : sessionStorage.removeItem(NAMESPACE)),
};

/** Send a request and return `{ data, server }`: the response and the server's times. A 401 dispatches "key-needed". */
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
    throw new Problem(0, "The server does not answer. Is `recollect serve` still running?");
  }
  const data = await parse(response, path);
  if (!response.ok) throw problemOf(response, data, sentKey);
  return { data, server: serverTimes(response.headers.get("Server-Timing")) };
}

export const get = async (path, options) => (await request("GET", path, options)).data;

async function parse(response, path) {
  if (response.status === 204) return null;
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("json")) return response.json();
  if (response.ok && !path.startsWith("/v1/reports/")) throw new Problem(0, "Another server answered, not Recollect; a proxy may require a login.");
  return response.text();
}

function problemOf(response, data, sentKey) {
  const problem = new Problem(response.status, data?.detail ?? response.statusText, data?.errors ?? []);
  // A late response to an earlier key says nothing about the current one.
  if (response.status === 401 && sentKey === key.get()) window.dispatchEvent(new CustomEvent("key-needed", { detail: problem.message }));
  return problem;
}

/** Parse `total;dur=4.2, search;dur=3.1`. */
function serverTimes(header) {
  const times = {};
  for (const part of (header ?? "").split(",")) {
    const match = /^\s*([\w-]+);dur=([\d.]+)/.exec(part);
    if (match) times[match[1]] = Number(match[2]);
  }
  return times;
}

let cachedStats = null;

/** Return the stats of the memory; cached until `clearStats`. */
export function stats() {
  cachedStats ??= get(STATS).catch((problem) => {
    cachedStats = null;
    throw problem;
  });
  return cachedStats;
}

export function clearStats() {
  cachedStats = null;
}

export async function mayWrite() {
  return (await stats()).right !== "read";
}

/** How long a running request may go on once a newer one is pending, in milliseconds. */
const ABORT_AFTER = 250;

/** After how many milliseconds outdated results are dimmed. */
const DIM_AFTER = 200;

/** Runs one request at a time and keeps only the newest pending one, so that typing fast makes no queue and an old
 * response never replaces a newer one. */
export class LatestRequest {
  #send;
  #show;
  #fail;
  #setOutdated;
  #newest = 0;
  #shown = 0;
  #timer = 0;
  #pending = null;
  #running = null;

  /** `send(params, signal)` returns a promise; `show(response, params)` gets responses that are not outdated;
   * `setOutdated` is called with true if the newest request takes long, and with false when it is over. */
  constructor(send, show, fail, setOutdated = () => {}) {
    this.#send = send;
    this.#show = show;
    this.#fail = fail;
    this.#setOutdated = setOutdated;
  }

  submit(params) {
    this.#pending = { params, number: ++this.#newest };
    this.#timer ||= setTimeout(() => this.#setOutdated(true), DIM_AFTER);
    if (!this.#running) this.#next();
    else this.#limit(this.#running);
  }

  /** Drop running and pending requests. */
  cancel() {
    this.#newest += 1;
    this.#shown = this.#newest;
    this.#pending = null;
    this.#running?.abort();
    this.#settle();
  }

  #settle() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#setOutdated(false);
  }

  #limit(running) {
    const remaining = ABORT_AFTER - (performance.now() - running.started);
    clearTimeout(running.timer);
    running.timer = setTimeout(() => running.abort(), Math.max(0, remaining));
  }

  async #next() {
    const { params, number } = this.#pending;
    this.#pending = null;
    const running = new AbortController();
    running.started = performance.now();
    this.#running = running;
    try {
      const response = await this.#send(params, running.signal);
      if (number > this.#shown) {
        this.#shown = number;
        if (number === this.#newest) this.#settle();
        this.#show(response, params);
      }
    } catch (error) {
      if (error.name !== "AbortError" && number === this.#newest) {
        this.#settle();
        this.#fail(error, params);
      }
    } finally {
      clearTimeout(running.timer);
      this.#running = null;
      if (this.#pending) this.#next();
    }
  }
}
