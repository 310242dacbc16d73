// A request that a client repeats until it gets a response: one key, and new ids each time.

import type { Change, Put } from "../../../src/store/store.ts";

const put = (id: string, key: string): Put => ({
  kind: "put",
  collection: "things",
  id,
  fields: `{"key":"${key}"}`,
  at: 10,
  expect: "nothing",
});

/** Creates two resources. */
export const attempt = (key: string, number: number): Change => ({
  kind: "all",
  changes: [put(`${key}-${number}`, key), put(`${key}-${number}-too`, key)],
  once: { owner: "client", key, fingerprint: key, at: 10, expiresAt: 20 },
});

/** Comes to nothing, after it has already written. */
export const failure = (key: string): Change => ({
  kind: "all",
  changes: [put(`${key}-ghost`, "ghost"), put(`${key}-ghost`, "ghost")],
});
