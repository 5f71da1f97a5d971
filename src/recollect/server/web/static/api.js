// The server, asked: who asks, in which namespace, how long it took, and what went wrong in one line.

const KEY = "recollect.key";
const NAMESPACE = "recollect.namespace";
const EVERYWHERE = "/v1/stats";

/** What went wrong, said for a person; `status` 0 is a server that does not answer. */
export class Problem extends Error {
  constructor(status, detail, errors = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** The key stays in this tab and is gone with it. */
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

export const namespace = {
  get: () => sessionStorage.getItem(NAMESPACE) ?? "",
  set: (value) => (value ? sessionStorage.setItem(NAMESPACE, value) : sessionStorage.removeItem(NAMESPACE)),
};

/** Ask, and return what was answered with where the time went; a refused key is told to the whole page. */
export async function ask(method, path, { parameters = {}, body, signal } = {}) {
  const address = new URL(path, location.origin);
  if (namespace.get() && path !== EVERYWHERE) address.searchParams.set("namespace", namespace.get());
  for (const [name, value] of Object.entries(parameters)) if (value) address.searchParams.set(name, value);
  const headers = {};
  const shown = key.get();
  if (shown) headers.Authorization = `Bearer ${shown}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const started = performance.now();
  let response;
  try {
    response = await fetch(address, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is `recollect serve` still running?");
  }
  const told = await answered(response, path);
  if (!response.ok) throw refused(response, told, shown);
  return { data: told, took: performance.now() - started, server: serverTimes(response.headers.get("Server-Timing")) };
}

export const get = async (path, options) => (await ask("GET", path, options)).data;

async function answered(response, path) {
  if (response.status === 204) return null;
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("json")) return response.json();
  if (response.ok && !path.startsWith("/v1/reports/")) throw new Problem(0, "Something else than Recollect answered; a proxy before it may want a login.");
  return response.text();
}

function refused(response, told, shown) {
  const problem = new Problem(response.status, told?.detail ?? response.statusText, told?.errors ?? []);
  // What was asked with another key may be answered late: of the one that is there now it says nothing.
  if (response.status === 401 && shown === key.get()) window.dispatchEvent(new CustomEvent("key-needed", { detail: problem.message }));
  return problem;
}

/** Read `total;dur=4.2, search;dur=3.1` into numbers. */
function serverTimes(header) {
  const times = {};
  for (const part of (header ?? "").split(",")) {
    const found = /^\s*([\w-]+);dur=([\d.]+)/.exec(part);
    if (found) times[found[1]] = Number(found[2]);
  }
  return times;
}
