// The command `demo`: fills a shop with products, customers and orders, to look around in.

import { isDeepStrictEqual } from "node:util";
import { CliError, usageError } from "../lib/cli-error.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { chooseFormat } from "./data-format.ts";
import {
  customerCount,
  customerId,
  customersOf,
  definitionsOf,
  orderId,
  ordersOf,
  type Product,
  productsOf,
} from "./demo-shop.ts";
import { importLines } from "./import-lines.ts";
import { countOf, Progress, type ProgressStep } from "./progress.ts";
import { localUrl, operatorConfig, requireSuccess } from "./system-request.ts";
import { print } from "./with-progress.ts";
import { withStoreToWrite } from "./with-store.ts";

export interface DemoOptions {
  readonly orders: string;
  readonly seed: string;
  readonly json?: boolean;
}

interface Shop {
  readonly seed: number;
  readonly orders: number;
}

const mostOrders = 10_000_000;

/** A run that was stopped goes on. A shop that is complete, or collections of others, are left alone. */
export async function runDemo(config: Config, options: DemoOptions): Promise<void> {
  const shop = shopOf(options);
  const progress = new Progress({ isJson: options.json });
  const startedAt = performance.now();
  const act = async (app: App): Promise<void> => {
    try {
      await checkCollections(app, shop);
      await fillShop(app, shop, progress);
    } finally {
      progress.close();
    }
  };
  await withStoreToWrite(operatorConfig(config), act, "Run the same command again.");
  const counts = countsOf(shop);
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const text = Object.entries(counts).map(([name, count]) => countOf(count, name));
  print(options, { collections: counts, seed: shop.seed, seconds }, [
    `The shop has ${text.join(", ")}. Open the console to look around.`,
  ]);
}

function shopOf({ orders, seed }: DemoOptions): Shop {
  const read = (where: string, value: string, most: number) => {
    const number = /^[0-9]{1,10}$/.test(value) ? Number(value) : Number.NaN;
    const isGood = number >= 1 && number <= most;
    return {
      number,
      errors: isGood ? [] : [{ where, detail: `must be a number from 1 to ${most}` }],
    };
  };
  const [count, start] = [read("--orders", orders, mostOrders), read("--seed", seed, 2 ** 31)];
  const errors = [...count.errors, ...start.errors];
  if (errors.length > 0) throw usageError(errors);
  return { orders: count.number, seed: start.number };
}

const countsOf = ({ seed, orders }: Shop) => ({
  products: productsOf(seed).length,
  customers: customerCount(orders),
  orders,
});

interface FoundCollection {
  readonly total: number;
  readonly definition: object;
}

/** Only what an earlier run of the same command has begun may be there. */
async function checkCollections(app: App, shop: Shop): Promise<void> {
  const totals = countsOf(shop);
  const definitions = Object.entries(definitionsOf(shop.seed));
  for (const [name, definition] of definitions) {
    const found = await findCollection(app, name);
    if (found === undefined) continue;
    if (!isDeepStrictEqual(found.definition, definition))
      throw new CliError(
        1,
        `The collection ${name} exists already, so nothing was written. Use another folder: --data ./demo`,
      );
    if (name === "orders" && found.total >= totals.orders)
      throw new CliError(1, "The demo shop is there already, so nothing was written.");
  }
}

async function findCollection(app: App, name: string): Promise<FoundCollection | undefined> {
  const response = await app.systemFetch(new Request(localUrl(`/-/collections/${name}`)));
  if (response.status === 404) return undefined;
  return (await (await requireSuccess(response, name, (one) => one)).json()) as FoundCollection;
}

async function fillShop(app: App, shop: Shop, progress: Progress): Promise<void> {
  const { seed, orders } = shop;
  for (const [name, definition] of Object.entries(definitionsOf(seed))) {
    const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
    const init = { method: "PUT", headers, body: JSON.stringify(definition) };
    const sent = await app.systemFetch(new Request(localUrl(`/-/collections/${name}`), init));
    await requireSuccess(sent, name, (one) => one);
  }
  const totals = countsOf(shop);
  await putProducts(
    app,
    seed,
    progress.step("products", { total: totals.products, unit: "resources" }),
  );
  const lines = [
    { collection: "customers", list: customersOf(seed, totals.customers), idOf: customerId },
    { collection: "orders", list: ordersOf(seed, orders, Date.now()), idOf: orderId },
  ];
  for (const one of lines) {
    const step = progress.step(one.collection, {
      total: totals[one.collection as "orders"],
      unit: "resources",
    });
    await importAll(app, one, step);
    step.done();
  }
}

/** Some at a time, because one commit serves all of them. */
async function putProducts(app: App, seed: number, step: ProgressStep): Promise<void> {
  const products = productsOf(seed);
  for (let n = 0; n < products.length; n += productsAtOnce) {
    const some = products.slice(n, n + productsAtOnce);
    await Promise.all(some.map((product) => putProduct(app, product)));
    step.add(some.length);
  }
  step.done();
}

const productsAtOnce = 6;

/** With its photo, in one request. */
async function putProduct(app: App, { id, fields, photo }: Product): Promise<void> {
  const form = new FormData();
  form.set("data", new Blob([JSON.stringify(fields)], { type: "application/json" }));
  form.set("photo", new Blob([new Uint8Array(photo())], { type: "image/png" }), `${id}.png`);
  const headers = { "if-none-match": "*", "transfer-encoding": "chunked" };
  const init = { method: "PUT", headers, body: form };
  const sent = await app.systemFetch(new Request(localUrl(`/products/${id}`), init));
  // 412: an earlier run has made it.
  if (sent.status !== 412) await requireSuccess(sent, id, (one) => one);
}

interface Lines {
  readonly collection: string;
  readonly list: Iterable<object>;
  readonly idOf: (line: number) => string;
}

const linesAtOnce = 200;

async function importAll(
  app: App,
  { collection, list, idOf }: Lines,
  step: ProgressStep,
): Promise<void> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let lines: string[] = [];
    const flush = (): Uint8Array => {
      step.add(lines.length);
      const bytes = Buffer.from(lines.join(""));
      lines = [];
      return bytes;
    };
    for (const one of list) {
      lines.push(`${JSON.stringify(one)}\n`);
      if (lines.length === linesAtOnce) yield flush();
    }
    yield flush();
  }
  const work = { collection, format: chooseFormat("", "ndjson") };
  const rest = { key: undefined, isDryRun: false, parameters: {}, encoding: undefined, idOf };
  await importLines(app, { ...work, ...rest }, chunks(), ({ line, detail }) => {
    throw new CliError(1, `${collection} ${idOf(line)}: ${detail}`);
  });
}
