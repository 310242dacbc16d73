// The React hooks: what they keep in the cache, that every resource shown has its ETag, and docs/react.md in a browser.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import {
  type DataTag,
  type FetchQueryOptions,
  QueryClient,
  type QueryKey,
  QueryObserver,
} from "@tanstack/react-query";
import { Client, type ClientOptions, Conflict, etagOf, type Problem } from "../../client/index.ts";
import { keepSame } from "../../client/react/keep-same.ts";
import { listKey, listOptions, resourceKey, resourceOptions } from "../../client/react/options.ts";
import { runChange } from "../../client/react/use-mutation.ts";
import type { TestApp } from "../http/app.ts";
import { findChromium, patienceMs, startChromium } from "../http/chromium.ts";
import { describeOn, itLong } from "../short-run.ts";
import { bundleOf, examplesOf, makePrograms, root, startShop, tool } from "./programs.ts";

interface Product {
  readonly id: string;
  readonly name: string;
  readonly price: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Shop {
  readonly products: {
    readonly resource: Product;
    readonly draft: { readonly name: string; readonly price: number };
  };
}

const programs = makePrograms();
let app: TestApp;
before(async () => {
  app = await startShop();
});
after(() => app.stop());

const shop = (options: ClientOptions = {}) =>
  new Client<Shop>(app.url, { token: app.admin, waitMs: 1, ...options }).collection("products");

/** A cache with the requests that filled it. */
function makeCache() {
  const requests: string[] = [];
  const send = (input: string | URL | Request, init?: RequestInit) => {
    const tag = new Headers(init?.headers).get("if-none-match") === null ? "" : " If-None-Match";
    requests.push(`${init?.method} ${new URL(String(input)).pathname}${tag}`);
    return fetch(input, init);
  };
  return { cache: new QueryClient(), requests, products: shop({ fetch: send as typeof fetch }) };
}

const failureOf = (promise: Promise<unknown>): Promise<Problem> =>
  promise.then(
    () => assert.fail("it should have failed"),
    (error) => error,
  );

/** Returns what is in the cache after a read. */
async function readInto<T>(
  cache: QueryClient,
  options: FetchQueryOptions<T, Problem> & { readonly queryKey: DataTag<QueryKey, T, Problem> },
): Promise<T> {
  await cache.fetchQuery(options);
  return cache.getQueryData(options.queryKey) ?? assert.fail("nothing was read");
}

/** Waits until an observer has finished to read. */
const settled = <T>(observer: QueryObserver<T, Problem>) =>
  new Promise<void>((resolve) => {
    const stop = observer.subscribe(({ fetchStatus }) => {
      if (fetchStatus !== "idle") return;
      stop();
      resolve();
    });
  });

describe("the queries of the hooks", () => {
  it("keep what has not changed, and give every resource its ETag", async () => {
    const { cache, products } = makeCache();
    for (const name of ["A", "B", "C"]) await products.create({ name, price: 1 });
    const read = () => readInto(cache, listOptions(products, { sort: "-name" }));
    const first = await read();
    assert.equal(await read(), first);
    const [c] = first.data;
    await products.update(c?.id ?? "", { price: 2 });
    const d = await products.create({ name: "D", price: 1 });
    const second = await read();
    assert.deepEqual(
      second.data.map(({ name }) => name),
      ["D", "C", "B", "A"],
    );
    assert.notEqual(second.data[1], c);
    assert.deepEqual([second.data[2], second.data[3]], [first.data[1], first.data[2]]);
    assert.equal(second.data[2], first.data[1]);
    for (const one of second.data) assert.match(etagOf(one) ?? "", /^"/);
    assert.equal((await products.update(second.data[0] ?? d, { price: 3 })).price, 3);
  });

  it("share any shape, whatever select makes of it", async () => {
    const { cache, products } = makeCache();
    const { data } = await cache.fetchQuery(listOptions(products));
    const again = await products.list();
    assert.equal(keepSame(data, again.data), data);
    const named = { first: data[0], count: 1, when: new Date(0) };
    assert.equal(keepSame(named, { ...named, first: again.data[0] }), named);
    const other = keepSame(named, { ...named, first: again.data[0], count: 2 }) as typeof named;
    assert.deepEqual([other.first, other.count], [data[0], 2]);
    assert.equal(other.first, data[0]);
    for (const [old, next] of [
      [undefined, 1],
      [[1], { 0: 1 }],
      [{ a: undefined }, { b: undefined }],
      [[1, 2], [1]],
      [null, []],
    ])
      assert.deepEqual(keepSame(old, next), next);
  });

  it("send If-None-Match for what they have, and take the same object after 304", async () => {
    const { cache, requests, products } = makeCache();
    const { id } = await products.create({ name: "Mug", price: 8 });
    requests.length = 0;
    const read = () => readInto(cache, resourceOptions(products, id));
    const first = await read();
    assert.equal(await read(), first);
    const named = () => readInto(cache, resourceOptions(products, id, { fields: ["name"] }));
    assert.deepEqual(await named(), { id, name: "Mug" });
    assert.equal(await named(), await named());
    assert.deepEqual(
      [...new Set(requests)],
      [...[`GET /products/${id}`, `GET /products/${id} If-None-Match`]],
    );
    assert.equal(cache.getQueryData(resourceKey(products, id))?.price, 8);
  });

  it("ask again after a failure of the server, three times in all", async () => {
    const { cache } = makeCache();
    let count = 0;
    const broken = (async () => {
      count++;
      return new Response(null, { status: 500 });
    }) as unknown as typeof fetch;
    const options = { ...listOptions(shop({ fetch: broken })), retryDelay: 0 };
    assert.equal((await failureOf(cache.fetchQuery(options))).status, 500);
    assert.equal(count, 3);
  });

  it("stop a request that nobody waits for, and repeat nothing that was refused", async () => {
    const { cache, requests, products } = makeCache();
    const error = await failureOf(cache.fetchQuery(resourceOptions(products, "none")));
    assert.deepEqual([error.status, requests.length], [404, 1]);
    let signal: AbortSignal | null | undefined;
    const hanging = ((_, init) => {
      signal = init?.signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(0)));
    }) as typeof fetch;
    const observer = new QueryObserver(cache, listOptions(shop({ fetch: hanging }), { page: 9 }));
    const stop = observer.subscribe(() => undefined);
    while (signal === undefined) await new Promise(setImmediate);
    stop();
    assert.equal(signal?.aborted, true);
  });
});

describe("the changes of the hooks", () => {
  it("put results into the cache, and read lists again", async () => {
    const { cache, requests, products } = makeCache();
    const list = new QueryObserver(cache, listOptions(products, { where: { name: "Vase" } }));
    const stop = list.subscribe(() => undefined);
    await settled(list);
    const names = () => list.getCurrentResult().data?.data.map(({ price }) => price);
    const made = await runChange(cache, products, "create", { name: "Vase", price: 20 });
    await settled(list);
    assert.deepEqual(names(), [20]);
    requests.length = 0;
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), made);
    const change = { target: made, patch: { price: 21 } };
    const changed = await runChange(cache, products, "update", change);
    await settled(list);
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), changed);
    assert.match(etagOf(changed) ?? "", /^"/);
    assert.deepEqual([names(), requests], [[21], [`PATCH /products/${made.id}`, "GET /products"]]);
    const file = new Blob(["x"], { type: "image/png" });
    const photo = { target: changed, field: "photo", file };
    const shown = await runChange(cache, products, "upload", photo);
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), shown);
    assert.notEqual(etagOf(shown), etagOf(changed));
    await settled(list);
    assert.equal(await runChange(cache, products, "remove", shown), true);
    await settled(list);
    assert.deepEqual(names(), []);
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), undefined);
    assert.equal(await runChange(cache, products, "remove", made.id), false);
    stop();
  });

  it("let a form that was opened before a refetch find the conflict, with both versions", async () => {
    const { cache, products } = makeCache();
    const { id } = await products.create({ name: "Pot", price: 1 });
    const observer = new QueryObserver(cache, resourceOptions(products, id));
    const stop = observer.subscribe(() => undefined);
    await settled(observer);
    const seen = observer.getCurrentResult().data ?? assert.fail("nothing was read");
    const theirs = await shop().update(id, { price: 2 });
    await observer.refetch();
    assert.deepEqual(observer.getCurrentResult().data, theirs);
    const patch = { price: 3 };
    const error = await failureOf(runChange(cache, products, "update", { target: seen, patch }));
    assert.ok(error instanceof Conflict);
    assert.deepEqual([error.base, error.current, error.sent], [seen, theirs, patch]);
    assert.equal(error.base, seen);
    const current = cache.getQueryData(resourceKey(products, id)) ?? assert.fail("it is gone");
    assert.deepEqual(current, theirs);
    const saved = await runChange(cache, products, "update", { target: current, patch });
    assert.equal(saved.price, 3);
    stop();
  });

  it("drop what somebody else has deleted", async () => {
    const { cache, products } = makeCache();
    const made = await runChange(cache, products, "create", { name: "Cup", price: 1 });
    await shop().remove(made.id);
    const update = { target: made, patch: { price: 2 } };
    assert.equal((await failureOf(runChange(cache, products, "update", update))).status, 404);
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), undefined);
    assert.deepEqual(listKey(products), [`${app.url}/products`, "list"]);
  });

  it("are not undone by a read that was sent before them", async () => {
    const { cache, products } = makeCache();
    const made = await products.create({ name: "Late", price: 1 });
    const late = Promise.withResolvers<Response>();
    const slow = shop({ fetch: (() => late.promise) as unknown as typeof fetch });
    const reading = cache.fetchQuery(resourceOptions(slow, made.id)).catch(() => "stopped");
    const changed = await runChange(cache, products, "update", {
      ...{ target: made, patch: { price: 2 } },
    });
    late.resolve(Response.json({ ...made, _etag: '"old"' }));
    await reading;
    assert.equal(cache.getQueryData(resourceKey(products, made.id)), changed);
  });
});

const head = `
import { Conflict } from "restante-client";
import { Client } from "restante-client";
import { listKey, useList, useMutation, useResource } from "restante-client/react";
import type { Collections } from "./collections.ts";
import { useQueryClient } from "@tanstack/react-query";
const shop = new Client<Collections>("http://localhost:8080");
const orders = shop.collection("orders");
`;

const right = [
  'useList(orders, { where: { "customer.country": "DE" }, sort: "-total", page: 2, expand: ["customer"] }).data?.data[0]?._expanded?.customer?.name satisfies string | undefined;',
  "useList(orders, undefined, { select: (page) => page.total, staleTime: 10 }).data satisfies number | null | undefined;",
  'useResource(orders, undefined, { fields: ["total"], refetchInterval: 1000 }).data?.total satisfies number | undefined;',
  'useResource(orders, "1", { select: (one) => one.total }).data satisfies number | undefined;',
  'useMutation(orders, "create").mutate({ customer: "c", total: 1 });',
  'useMutation(orders, "update").mutate({ target: "1", patch: { isGift: null } });',
  'useMutation(orders, "remove", { onSuccess: (was) => { was satisfies boolean; } }).mutate("1");',
  'const { error } = useMutation(orders, "update"); if (error instanceof Conflict) error.current?.total satisfies number | undefined; error?.at("/total");',
  "useQueryClient().getQueryData(listKey(orders))?.data[0]?.total satisfies number | undefined;",
];

const wrong = [
  'useList(orders, { sort: "extra" });',
  'useList(orders, { where: { total: "1" } });',
  'useList(orders, { expand: ["product"] });',
  "useList(orders, { signal: AbortSignal.timeout(1) });",
  "useList(orders).data?.data[0]?.extra;",
  "useResource(orders, 1);",
  'useResource(orders, "1", { fields: ["extra"] });',
  'useMutation(orders, "create").mutate({ customer: "c" });',
  'useMutation(orders, "update").mutate({ target: "1", patch: { total: null } });',
  'useMutation(orders, "update").mutate({ patch: { total: 1 } });',
  'useMutation(orders, "destroy");',
  'useMutation(orders, "remove").mutate({ id: "1" });',
];

describeOn("bun", "the types of the hooks", () => {
  it("let right programs compile, and catch each wrong one", async () => {
    const lines = [
      ...right.map((line) => `{ ${line} }`),
      ...wrong.map((line) => `// @ts-expect-error\n{ ${line} }`),
    ];
    assert.equal(await programs.compile("hooks.tsx", head + lines.join("\n")), "");
  });
});

const chromium = findChromium();

describe("docs/react.md", () => {
  const skip = chromium === undefined && "CHROMIUM MISSING: no browser ran docs/react.md";

  itLong("compiles and runs in a browser", { skip }, async () => {
    const blocks = await examplesOf("react.md", "tsx");
    assert.ok(blocks.length >= 5);
    const given = `const token = ${JSON.stringify(app.admin)};\n`;
    const program = blocks.join("\n").replace('"http://localhost:8080"', JSON.stringify(app.url));
    assert.equal(await programs.compile("docs.tsx", given + program), "");
    const files = [join(programs.folder, "docs.tsx"), join(programs.folder, "docs.js")] as const;
    await promisify(execFile)(tool("bun"), ["build", files[0], "--outfile", files[1]]);
    await run(await readFile(files[1], "utf8"));
  });
});

/** Lists, turns a page, and changes a price that somebody else has changed meanwhile. */
async function run(script: string): Promise<void> {
  for await (const one of shop().all()) await shop().remove(one);
  for (const name of ["Bowl", "Cup", "Jar", "Pan"]) await shop().create({ name, price: 5 });
  const browser = await startChromium(chromium ?? "");
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    await page.goto(`${app.url}/-/health`);
    await page.setContent("<body></body>");
    await page.addScriptTag({ content: script, type: "module" });
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByRole("button", { name: "Pan, 5" }).click();
    await page.getByLabel("Price").fill("7");
    const pan = (await shop().list({ where: { name: "Pan" } })).data[0] ?? assert.fail();
    await shop().update(pan, { price: 6 });
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("button", { name: "Pan, 6" }).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("changed the price from 5 to 6").waitFor();
    assert.equal((await shop().get(pan.id)).price, 6);
    await page.getByRole("button", { name: "Change it to 7" }).click();
    await page.getByRole("button", { name: "Pan, 7" }).waitFor();
    await page.getByLabel("Price").fill("-1");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("must be at least 0").waitFor();
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
  }
}

describeOn("bun", "the size of the hooks", () => {
  it("is at most 2 KB with brotli, without React, TanStack Query and the client", () => {
    const file = join(root, "client/react/index.ts");
    const others = ["react", "@tanstack/react-query", "../*"].flatMap((one) => ["--external", one]);
    const { bytes } = bundleOf(file, ...others);
    assert.ok(bytes > 500 && bytes <= 2_000, `${bytes} bytes`);
  });
});
