// What who asks may do, so that the page offers nothing that would be refused.

import { get } from "./api.js";

let known = null;

/** Return what the server holds and allows, asked once for each key and namespace. */
export function stats() {
  known ??= get("/v1/stats").catch((problem) => {
    known = null;
    throw problem;
  });
  return known;
}

/** Ask anew next time. */
export function forget() {
  known = null;
}

export async function mayWrite() {
  return (await stats()).right !== "read";
}
