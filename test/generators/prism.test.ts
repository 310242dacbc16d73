// Prism as a validating proxy in front of the server: no request and no answer violates the document.
// @runtimes only node
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { PrismHttp } from "@stoplight/prism-http/dist/client.js";
import type { TestApp } from "../http/app.ts";
import { skipOnBun, startShop, uploadCover } from "./shop.ts";

type Fields = Readonly<Record<string, string>>;
type Method = "get" | "post" | "put" | "patch" | "delete";

let app: TestApp;
let prism: PrismHttp;
let folder: string;
before(async () => {
  if (skipOnBun) return;
  app = await startShop();
  folder = await mkdtemp(join(tmpdir(), "restante-prism-"));
  const file = join(folder, "openapi.json");
  await writeFile(file, await (await app.request("/-/openapi.json")).text());
  prism = await startPrism(file);
});
after(async () => {
  await app?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** Its client sends a request as its proxy does: it validates, forwards, and validates the answer. */
async function startPrism(file: string): Promise<PrismHttp> {
  const { getHttpOperationsFromSpec } = await import("@stoplight/prism-http");
  const { createClientFromOperations } = await import("@stoplight/prism-http/dist/client.js");
  const { default: pino } = await import("pino");
  return createClientFromOperations(await getHttpOperationsFromSpec(file), {
    ...{ isProxy: true, upstream: new URL(app.url), upstreamProxy: undefined, errors: false },
    ...{ validateRequest: true, validateResponse: true, checkSecurity: true },
    ...{ mock: { dynamic: false }, logger: pino({ enabled: false }) as never },
  });
}

/** Sends a request through Prism. */
async function send(method: Method, path: string, body?: unknown, headers: Fields = {}) {
  const fields = { authorization: `Bearer ${app.admin}`, "accept-encoding": "identity" };
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const input = { method, headers: { ...fields, ...type, ...headers }, body };
  const { status, violations, data } = await prism.request(path, input);
  return { status, violations, data: data as { id: string; total: number; errors: unknown[] } };
}

describe("Prism in front of the server", () => {
  it("finds no violation in what a client does", { skip: skipOnBun }, async () => {
    const withCover = await uploadCover(app);
    const draft = { title: "Emma", author: { name: "Jane Austen" }, year: 1815 };
    const created = await send("post", "/books", draft, { "idempotency-key": '"one"' });
    const one = `/books/${created.data.id}`;
    const operations = [
      { method: "POST", path: "/orders", body: { customer: "Ada" } },
      { method: "PATCH", path: one, body: { year: null }, ifMatch: "*" },
    ];
    const minimal = { prefer: "return=minimal" };
    const patch = { "content-type": "application/merge-patch+json" };
    const definition = { schema: { type: "object" }, indexed: ["name"] };
    const requests: readonly [status: number, ...Parameters<typeof send>][] = [
      [201, "post", "/books", draft, { "idempotency-key": '"one"' }],
      [200, "get", "/books?year[gte]=1800&sort=-year,title&limit=5"],
      [200, "get", "/books?q=emma&total=none"],
      [200, "get", "/-/lines/books"],
      [200, "get", "/-/lines/books", undefined, { accept: "text/csv" }],
      [200, "get", one],
      [304, "get", one, undefined, { "if-none-match": "*" }],
      [200, "put", one, { ...draft, status: "in-print" }, { "if-match": "*" }],
      [204, "put", one, draft, minimal],
      [201, "put", "/books/persuasion", { ...draft, title: "Persuasion" }],
      [200, "patch", one, { price: 12.5, rating: null }, patch],
      [204, "patch", one, { price: null }, { ...patch, ...minimal }],
      [200, "post", "/-/batch", { operations }],
      [200, "get", `/books/${withCover}/cover`],
      [206, "get", `/books/${withCover}/cover`, undefined, { range: "bytes=0-0" }],
      [201, "post", "/orders", { customer: "Ada", lines: [{ book: "emma", count: 1 }] }],
      [200, "get", "/orders?customer=Ada&paid=true"],
      [204, "delete", one],
      [404, "get", one],
      [412, "put", "/books/persuasion", draft, { "if-none-match": "*" }],
      [201, "put", "/-/collections/people", definition],
      [200, "get", "/-/collections"],
      [200, "get", "/-/collections/books"],
      [201, "post", "/-/tokens", { name: "reader", scopes: ["books:read"] }],
      [200, "get", "/-/tokens"],
      [200, "get", "/-/actions"],
      [200, "get", "/-/health"],
      [200, "get", "/-/ready"],
      [200, "get", "/-/problems/not-found"],
      [200, "get", "/.well-known/api-catalog"],
      [200, "get", "/"],
    ];
    for (const [status, ...request] of requests) {
      const answer = await send(...request);
      const where = `${request[0]} ${request[1]}`;
      assert.deepEqual(
        [answer.status, answer.violations],
        [status, { input: [], output: [] }],
        where,
      );
    }
  });

  it("finds the violations in requests that the server rejects", { skip: skipOnBun }, async () => {
    const { status, violations } = await send("post", "/books", { title: 1 });
    assert.equal(status, 400);
    assert.deepEqual(
      violations.input.map(({ path, code }) => [path?.join("."), code]),
      [
        ["body", "required"],
        ["body.title", "type"],
      ],
    );
    assert.deepEqual(violations.output, []);
  });
});
