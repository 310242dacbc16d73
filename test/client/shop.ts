// The shop of examples/shop on a real server, for the tests of data providers.

import { readFile } from "node:fs/promises";
import { Client } from "../../client/index.ts";
import { startApp, type TestApp } from "../http/app.ts";

const folder = new URL("../../examples/shop/collections/", import.meta.url);

/** In the order in which they refer to each other. */
const names = ["suppliers", "products", "reviews", "customers", "orders"];

export interface TestShop {
  readonly app: TestApp;
  readonly client: Client;
}

export async function startShop(): Promise<TestShop> {
  const app = await startApp();
  const client = new Client(app.url, { token: app.admin, waitMs: 1 });
  for (const name of names) {
    const body = JSON.parse(await readFile(new URL(`${name}.json`, folder), "utf8"));
    await client.send({ method: "PUT", path: `/-/collections/${name}`, body });
  }
  return { app, client };
}

/** A picture of one point. */
export const picture = (name: string): File => {
  const bytes = Buffer.from("R0lGODdhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=", "base64");
  return new File([bytes], name, { type: "image/gif" });
};

/** 25 products of a supplier, three customers, and an order of each. */
export async function fillShop(client: Client): Promise<void> {
  await client.collection("suppliers").replace("clay", { name: "Clay & Co" });
  await client.collection("suppliers").replace("iron", { name: "Iron & Sons" });
  const kinds = ["Bowl", "Cup", "Jug", "Mug", "Pot"];
  const { replace } = client.collection("products").in;
  const drafts = Array.from({ length: 25 }, (_, at) => {
    const price = at + 1;
    const name = `${kinds[at % 5]} ${String(price).padStart(2, "0")}`;
    return replace(`p${price}`, { sku: `P-${price}`, name, price, stock: 3, supplier: "clay" });
  });
  await client.batch(drafts);
  const people = { ada: ["Ada", "DE"], eva: ["Eva", "DE"], linus: ["Linus", "FI"] };
  for (const [at, [id, [name, country]]] of Object.entries(people).entries()) {
    await client.collection("customers").replace(id, { name, country });
    const lines = [{ product: `p${at + 1}`, quantity: at + 1 }];
    const placed = `2026-03-0${at + 1}T10:00:00Z`;
    const order = { customer: id, status: "open", placed, lines, total: 10 * (at + 1) };
    await client.collection("orders").replace(`o${at + 1}`, order);
  }
}
