// What a runtime does with the client: every kind of call once. The result is the same everywhere.

import type * as Restante from "../../client/index.ts";

export interface Given {
  readonly base: string;
  readonly token: string;
}

/** A fetch whose first answer to a POST is lost. */
function losing(): typeof fetch {
  let isLost = false;
  return (async (input: string, init: RequestInit = {}) => {
    const response = await fetch(input, init);
    if (init.method !== "POST" || isLost) return response;
    isLost = true;
    throw new TypeError("the answer is lost");
  }) as typeof fetch;
}

/** Takes the client as a module, because each runtime loads the built one in its own way. */
export async function useClient(
  { Client, Conflict, Problem }: typeof Restante,
  { base, token }: Given,
) {
  const shop = new Client(base, { token, waitMs: 1 });
  await shop.send({ method: "PUT", path: "/-/collections/products", body: {} });
  const products = shop.collection("products");
  const start = await products.changes();
  const mug = await products.create({ name: "Mug", price: 8 });
  const [pot] = await shop.batch([products.in.create({ name: "Pot", price: 20 })]);
  const once = new Client(base, { token, waitMs: 1, fetch: losing() }).collection("products");
  await once.create({ name: "Cup", price: 5 });
  const cheap = await products.list({ where: { price: { lt: 10 } }, sort: "-price" });
  const many = Array.from({ length: 90 }, (_, n) => `a name that makes the address long, ${n}`);
  const long = await products.count({ where: { name: { in: [...many, "Pot"] } } });

  await products.update(mug.id, { price: 9 });
  const conflict = await products.update(mug, { price: 7 }).catch((error: unknown) => error);
  const wrong = await products.get("nothing").catch((error: unknown) => error);

  const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 251);
  const photo = products.file(pot, "photo");
  const sent: number[] = [];
  await photo.put(new Blob([bytes], { type: "image/png" }), {
    ...{ name: "pot.png", partBytes: 30_000, onProgress: (count: number) => sent.push(count) },
  });
  const read = await photo.get();
  const back = new Uint8Array(await read.arrayBuffer());

  const stop = new AbortController();
  const removed: string[] = [];
  const { next, changes } = await products.changes({ since: start.next });
  await products.remove(mug.id);
  const follower = products.follow({ since: next, everyMs: 10, signal: stop.signal });
  for await (const page of follower) {
    for (const change of page.changes)
      if ("removed" in change) removed.push(change.removed === mug.id ? "mug" : change.removed);
    if (removed.length > 0) stop.abort();
  }
  const stopped = await products.list({ signal: stop.signal }).catch((error: Error) => error.name);
  return {
    cheap: cheap.data.map(({ name }) => name),
    total: cheap.total,
    long,
    conflict:
      conflict instanceof Conflict ? [conflict.base, conflict.current].map(priceOf) : `${conflict}`,
    wrong: wrong instanceof Problem ? [wrong.kind, wrong.status] : `${wrong}`,
    sent,
    type: read.type,
    isSame: back.length === bytes.length && back.every((byte, at) => byte === bytes[at]),
    changes: changes.length,
    ...{ removed, stopped },
  };
}

const priceOf = (resource: unknown) => (resource as { readonly price: number }).price;

/** What it returns, and nothing was created twice. */
export const expected = {
  cheap: ["Mug", "Cup"],
  total: 2,
  long: 1,
  conflict: [8, 9],
  wrong: ["not-found", 404],
  sent: [0, 30_000, 60_000, 90_000, 100_000],
  type: "image/png",
  isSame: true,
  changes: 3,
  removed: ["mug"],
  stopped: "AbortError",
};
