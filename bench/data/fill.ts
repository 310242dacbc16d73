// Fills a running Restante by NDJSON, and reads ids from it.

import { bar } from "../progress.ts";

export type Headers = Readonly<Record<string, string>>;

export const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` });

/** Sends one request outside the load and returns its text. Throws when the status is another one. */
export async function request(
  url: string,
  init: RequestInit & { readonly timeoutSeconds?: number },
  ...statuses: readonly number[]
): Promise<string> {
  const { timeoutSeconds = 60, ...rest } = init;
  const response = await fetch(url, {
    ...rest,
    signal: AbortSignal.timeout(timeoutSeconds * 1000),
  });
  const text = await response.text();
  if (statuses.includes(response.status)) return text;
  const { pathname } = new URL(url);
  throw new Error(
    `${rest.method ?? "GET"} ${pathname}: ${response.status} instead of ${statuses.join(" or ")}. ${text.slice(0, 300)}`,
  );
}

/** Returns true when the definition holds, and false when its indexes are still being built. */
export async function define(
  origin: string,
  headers: Headers,
  collection: string,
  definition: object,
): Promise<boolean> {
  const url = `${origin}/-/collections/${collection}`;
  const init = { headers: { ...headers, "content-type": "application/json" } };
  const body = JSON.stringify(definition);
  const text = await request(url, { ...init, method: "PUT", body }, 200, 201, 202);
  const { build } = JSON.parse(text) as { build?: { status: string } };
  return build?.status !== "running";
}

export interface Fill {
  readonly collection: string;
  readonly count: number;
  readonly recordOf: (number: number) => object;
  /** How many resources a request carries. */
  readonly perRequest?: number;
}

/** Several at once, so that the server reads some while the database writes others. */
const requestsAtOnce = 3;

export async function fill(origin: string, headers: Headers, what: Fill): Promise<void> {
  const { collection, count, recordOf, perRequest = 5_000 } = what;
  const show = bar(`filling ${collection} with ${count.toLocaleString("en")}`, count);
  let [begun, done] = [0, 0];
  const work = async () => {
    while (begun < count) {
      const first = begun + 1;
      const last = Math.min(count, begun + perRequest);
      begun = last;
      await importLines(origin, headers, collection, linesOf(recordOf, first, last));
      done += last - first + 1;
      show(done);
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, work));
}

export const linesOf = (
  recordOf: (number: number) => object,
  first: number,
  last: number,
): string => {
  const lines: string[] = [];
  for (let number = first; number <= last; number++) lines.push(JSON.stringify(recordOf(number)));
  return `${lines.join("\n")}\n`;
};

export const ndjsonHeaders = (headers: Headers): Headers => ({
  ...headers,
  "content-type": "application/x-ndjson",
  prefer: "return=minimal",
});

async function importLines(
  origin: string,
  headers: Headers,
  collection: string,
  body: string,
): Promise<void> {
  const init = { method: "POST", headers: ndjsonHeaders(headers), body, timeoutSeconds: 180 };
  const text = await request(`${origin}/${collection}`, init, 200);
  const { lines, created } = JSON.parse(text.trim().split("\n").at(-1) ?? "") as Imported;
  if (lines !== created) throw new Error(`of ${lines} lines ${created} were created`);
}

interface Imported {
  readonly lines: number;
  readonly created: number;
}

/** Up to `wanted` ids from all over the collection. */
export async function readIds(
  origin: string,
  headers: Headers,
  collection: string,
  wanted: number,
  filter = "",
): Promise<readonly string[]> {
  const page = async (number: number) => {
    const url = `${origin}/${collection}?${filter}&page=${number}&limit=1000&fields=id`;
    return JSON.parse(await request(url, { headers }, 200)) as {
      readonly data: readonly { readonly id: string }[];
      readonly pages: number;
    };
  };
  const { data, pages } = await page(1);
  const ids = data.map(({ id }) => id);
  const step = Math.max(1, Math.floor(pages / Math.ceil(wanted / 1000)));
  for (let number = 1 + step; number <= pages && ids.length < wanted; number += step)
    ids.push(...(await page(number)).data.map(({ id }) => id));
  return ids.slice(0, wanted);
}

/** How many resources the collection has. */
export async function totalOf(
  origin: string,
  headers: Headers,
  collection: string,
): Promise<number> {
  const text = await request(`${origin}/${collection}?limit=1`, { headers }, 200);
  return (JSON.parse(text) as { readonly total: number }).total;
}
