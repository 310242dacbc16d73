// The command `demo`: fills a shop with products, customers and orders, to look around in.

import { mkdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { CliError, messageOf, usageError } from "../lib/cli-error.ts";
import { demoFile } from "../lib/program.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { chooseFormat } from "./data-format.ts";
import { importLines } from "./import-lines.ts";
import { countOf, Progress } from "./progress.ts";
import { localUrl, operatorConfig, requireSuccess } from "./system-request.ts";
import { print } from "./with-progress.ts";
import { withStoreToWrite } from "./with-store.ts";

export interface DemoOptions {
  readonly orders: string;
  readonly json?: boolean;
  readonly serve?: boolean;
}

/** `templates/demo/shop.json`. Each product has a picture beside it. */
interface Shop {
  /** In the order in which they are made, because references need what they refer to. */
  readonly definitions: Readonly<Record<string, object>>;
  readonly products: Readonly<Record<string, { readonly price: number }>>;
  readonly firstNames: readonly string[];
  readonly lastNames: readonly string[];
  readonly places: readonly (readonly [city: string, country: string])[];
}

const mostOrders = 10_000_000;
const linesAtOnce = 200;
const dayMs = 86_400_000;
const daysOfOrders = 730;

/** A run that was stopped goes on. A shop that is complete, or collections of others, are left alone. */
export async function runDemo(config: Config, options: DemoOptions): Promise<void> {
  const startedAt = performance.now();
  const shop = demoShop(options);
  if (config.store === undefined) createFolder(config.data);
  await withStoreToWrite(
    operatorConfig(config),
    async (app) => {
      if (!(await shop.fill(app)))
        throw new CliError(1, "The demo shop is there already, so nothing was written.");
    },
    "Run the same command again.",
  );
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const text = Object.entries(shop.totals).map(([name, count]) => countOf(count, name));
  print(options, { collections: shop.totals, seconds }, [
    `The shop has ${text.join(", ")}. Open the console to look around.`,
  ]);
}

function createFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new CliError(1, `Cannot create ${path}: ${messageOf(cause)}`, { cause });
  }
}

interface DemoShop {
  readonly totals: Readonly<Record<string, number>>;
  /** Returns false when an earlier run has filled it. */
  fill(app: App): Promise<boolean>;
}

/** Checks the options. */
export function demoShop(options: DemoOptions): DemoShop {
  const orders = /^[0-9]{1,8}$/.test(options.orders) ? Number(options.orders) : 0;
  if (orders < 1 || orders > mostOrders)
    throw usageError([{ where: "--orders", detail: `must be a number from 1 to ${mostOrders}` }]);
  const shop: Shop = JSON.parse(demoFile("shop.json").toString());
  const products = Object.keys(shop.products).length;
  const totals = { products, customers: Math.max(10, Math.ceil(orders / 20)), orders };
  return {
    totals,
    async fill(app) {
      if (await isComplete(app, shop, orders)) return false;
      const progress = new Progress({ isJson: options.json });
      await fillShop(app, shop, totals, progress).finally(() => progress.close());
      return true;
    },
  };
}

async function fillShop(
  app: App,
  shop: Shop,
  totals: { readonly products: number; readonly customers: number; readonly orders: number },
  progress: Progress,
): Promise<void> {
  const { products, customers, orders } = totals;
  for (const [name, definition] of Object.entries(shop.definitions))
    await put(app, `/-/collections/${name}`, JSON.stringify(definition), {
      "content-type": "application/json",
    });
  const step = progress.step("products", { total: products, unit: "resources" });
  // At once, because one commit serves many of them.
  await Promise.all(Object.keys(shop.products).map((id) => putProduct(app, shop, id)));
  step.add(products);
  step.done();
  await importAll(app, "customers", customersOf(shop), customers, progress);
  await importAll(app, "orders", ordersOf(shop, totals), orders, progress);
}

/** Whether the last order is there. Otherwise only what an earlier run of the same command has begun may be there. */
async function isComplete(app: App, shop: Shop, orders: number): Promise<boolean> {
  const last = localUrl(`/orders/${idOf("orders", orders)}`);
  if ((await app.systemFetch(new Request(last, { method: "HEAD" }))).ok) return true;
  for (const [name, definition] of Object.entries(shop.definitions)) {
    const sent = await app.systemFetch(new Request(localUrl(`/-/collections/${name}`)));
    if (sent.status === 404) continue;
    await requireSuccess(sent, name, (one) => one);
    const found = (await sent.json()) as { readonly definition: object };
    if (!isDeepStrictEqual(found.definition, definition))
      throw new CliError(
        1,
        `The collection ${name} exists already, so nothing was written. Use another folder: --data ./demo`,
      );
  }
  return false;
}

/** With its photo, in one request. */
async function putProduct(app: App, { products }: Shop, id: string): Promise<void> {
  const form = new FormData();
  form.set("data", new Blob([JSON.stringify(products[id])], { type: "application/json" }));
  form.set("photo", new Blob([demoFile(`${id}.png`)], { type: "image/png" }), `${id}.png`);
  await put(app, `/products/${id}`, form, { "if-none-match": "*" });
}

/** What an earlier run has made stays as it is. */
async function put(
  app: App,
  path: string,
  body: string | FormData,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  const headers = { "transfer-encoding": "chunked", ...fields };
  const sent = await app.systemFetch(new Request(localUrl(path), { method: "PUT", headers, body }));
  if (sent.status !== 412) await requireSuccess(sent, path, (one) => one);
}

const idOf = (collection: string, number: number): string =>
  `${collection.slice(0, 1)}${String(number).padStart(7, "0")}`;

/** Lines that an earlier run has stored stay as they are. */
async function importAll(
  app: App,
  collection: string,
  resourceOf: (number: number) => object,
  total: number,
  progress: Progress,
): Promise<void> {
  const step = progress.step(collection, { total, unit: "resources" });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let number = 1; number <= total; number += linesAtOnce) {
      const count = Math.min(linesAtOnce, total - number + 1);
      const lines = Array.from({ length: count }, (_, at) => resourceOf(number + at));
      step.add(count);
      yield Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    }
  }
  const work = {
    collection,
    format: chooseFormat("", "ndjson"),
    key: undefined,
    isDryRun: false,
    parameters: {},
    encoding: undefined,
    idOf: (line: number) => idOf(collection, line),
  };
  await importLines(app, work, chunks(), ({ line, detail }) => {
    throw new CliError(1, `${collection} ${idOf(collection, line)}: ${detail}`);
  });
  step.done();
}

/** Returns a number from 0 to 1 for each call, the same in every run (MINSTD). */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const pick = <T>(list: readonly T[], random: number): T =>
  list[Math.floor(random * list.length)] as T;

export function customersOf({ firstNames, lastNames, places }: Shop): (number: number) => object {
  const random = randomNumbers();
  return (number) => {
    const [first, last] = [pick(firstNames, random()), pick(lastNames, random())];
    const [city, country] = pick(places, random());
    return {
      name: `${first} ${last}`,
      email: `${first}.${last}.${number}@example.org`.toLowerCase(),
      birthday: new Date(Date.UTC(1945) + random() * 60 * 365 * dayMs).toISOString().slice(0, 10),
      isSubscribed: random() < 0.4,
      address: { city, country },
    };
  };
}

/** The last order is placed now; the shop has grown until then. */
export function ordersOf(
  { products }: Shop,
  { customers, orders }: { readonly customers: number; readonly orders: number },
): (number: number) => object {
  const random = randomNumbers();
  const end = Date.now();
  const sold = Object.entries(products);
  return (number) => {
    const daysAgo = daysOfOrders * (1 - Math.sqrt(number / orders));
    const lines = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      const [product, { price }] = pick(sold, random());
      return { product, quantity: 1 + Math.floor(random() ** 3 * 5), price };
    });
    const cents = lines.reduce((sum, { quantity, price }) => sum + quantity * price * 100, 0);
    return {
      number,
      customer: idOf("customers", 1 + Math.floor(random() ** 2 * customers)),
      status: statusOf(daysAgo, random()),
      placedAt: new Date(end - Math.round(daysAgo * dayMs)).toISOString(),
      total: Math.round(cents) / 100,
      lines,
      ...(random() < 0.03 && { note: "Please ring twice." }),
    };
  };
}

/** Orders of the last days are still under way. */
function statusOf(daysAgo: number, chance: number): string {
  if (daysAgo < 1) return chance < 0.5 ? "open" : "paid";
  if (daysAgo < 4) return chance < 0.2 ? "paid" : "shipped";
  return chance < 0.04 ? "returned" : "delivered";
}
