// A server with the collections of a book shop, for the tools that read its OpenAPI document.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { startApp, type TestApp } from "../http/app.ts";
import { Client } from "../http/client.ts";

/** What generators find hard: the schemas of `catalog`, and a collection with the name of a type. */
export const hardCollections = ["catalog", "list"];

/** Starts a server with the collections `books` and `orders`, and more. */
export async function startShop(more: readonly string[] = []): Promise<TestApp> {
  const app = await startApp();
  const client = new Client(app);
  for (const name of ["books", "orders", ...more]) {
    const file = new URL(`${name}.collection.json`, import.meta.url);
    const { status, body } = await client.put(
      `/-/collections/${name}`,
      JSON.parse(await readFile(file, "utf8")),
    );
    assert.equal(status, 201, body);
  }
  return app;
}

/** Creates a book with a file, and returns its id. */
export async function uploadCover(app: TestApp): Promise<string> {
  const form = new FormData();
  form.set("title", "Persuasion");
  form.set("author.name", "Jane Austen");
  form.set("cover", new File(["a cover"], "cover.txt", { type: "text/plain" }));
  const response = await app.request("/books", { method: "POST", body: form });
  assert.equal(response.status, 201, await response.clone().text());
  return ((await response.json()) as { id: string }).id;
}

/** The tools do not depend on the runtime of the server. */
export const skipOnBun = "bun" in process.versions && "it runs under Node";

/** What the program of each generated client prints: one line for each step. */
export const expectedSteps = [
  "created Emma draft",
  "listed 1 Emma",
  "unchanged 304",
  "replaced in-print",
  "patched 12.5 in-print",
  "batch 201 204",
];
