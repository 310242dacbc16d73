// What openapi-typescript and orval make from the document type-checks, and clients of openapi-fetch and orval work.
// Hey API has its own test: test/http/client-generated.test.ts.
// @runtimes only node

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { TestApp } from "../http/app.ts";
import { expectedSteps, hardCollections, skipOnBun, startShop } from "./shop.ts";
import { fetchPackage } from "./tools.ts";

const run = promisify(execFile);
const compiler = fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url));

/** Uses the types of openapi-typescript; a line below `@ts-expect-error` must not type-check. */
const typesProgram = `
import type { components, paths } from "./types.ts";

type Body<Operation> = Operation extends { requestBody: { content: { "application/json": infer Json } } } ? Json : never;
type Answer<Operation> = Operation extends { responses: { 200: { content: { "application/json": infer Json } } } } ? Json : never;

export const draft: Body<paths["/books"]["post"]> = { title: "Emma", author: { name: "Jane Austen" }, status: "draft" };
export const patch: Body<paths["/books/{id}"]["patch"]> = { price: 12.5, rating: null };
export const query: paths["/books"]["get"]["parameters"]["query"] = { "year[gte]": 1800, sort: "-year", limit: 5 };
export const titles = (page: Answer<paths["/books"]["get"]>): readonly string[] => page.data.map(({ title }) => title);
export const price = (book: components["schemas"]["Books"]): number | undefined => book.price;
export const hard: components["schemas"]["CatalogDraft"] = {
  name: "x", owner: { label: "a", born: "2026-01-01" }, level: 5, tone: "loud", place: [1, 2, "x"],
  tree: { label: "r", children: [{ label: "c" }] }, labels: { a: "b" }, counts: { n_a: 1 }, grade: "a",
  class: "c", default: true, self: "s", "2fa": true, $price: 1.5, größe: "M",
};
// @ts-expect-error: no such status
export const wrong: Body<paths["/books/{id}"]["patch"]> = { status: "sold" };
`;

/** Uses openapi-fetch with these types, and prints the same lines as the programs in other languages. */
const fetchProgram = `
import createClient from "openapi-fetch";
import type { components, paths } from "./types.ts";
import { hard } from "./types-program.ts";

declare const process: { readonly argv: readonly string[] };
const [, , baseUrl = "", token = ""] = process.argv;
const { GET, POST, PUT, PATCH } = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
const fail = (answer: unknown): never => { throw new Error(JSON.stringify(answer)); };
const author = { name: "Jane Austen" };

const created = await POST("/books", { body: { title: "Emma", author, year: 1815, price: 9.5 } });
const emma: components["schemas"]["Books"] = created.data ?? fail(created.error);
console.log("created", emma.title, emma.status);
const listed = await GET("/books", { params: { query: { "year[gte]": 1800, sort: "-year", limit: 5 } } });
console.log("listed", listed.data?.total, listed.data?.data.map(({ title }) => title).join(" "));
const etag = created.response.headers.get("etag") ?? "";
const path = { id: emma.id };
const unchanged = await GET("/books/{id}", { params: { path, header: { "If-None-Match": etag } } });
console.log("unchanged", unchanged.response.status);
const body = { title: "Emma", author, year: 1815, status: "in-print" } as const;
const replaced = await PUT("/books/{id}", { params: { path, header: { "If-Match": etag } }, body });
console.log("replaced", replaced.data?.status);
const patched = await PATCH("/books/{id}", { params: { path }, body: { price: 12.5 } });
console.log("patched", patched.data?.price, patched.data?.status);
const operations = [
  { method: "POST" as const, path: "/orders", body: { customer: "Ada" } },
  { method: "DELETE" as const, path: \`/books/\${emma.id}\` },
];
const batch = await POST("/-/batch", { body: { operations } });
console.log("batch", batch.data?.results.map(({ status }) => status).join(" "));
const odd = await POST("/catalog", { body: hard });
console.log("hard", odd.data?.owner?.born, odd.data?.["2fa"], odd.data?.größe);
const lines = await GET("/-/lines/{collection}", { params: { path: { collection: "catalog" } }, parseAs: "text" });
console.log("lines", typeof lines.data, lines.data?.trimEnd().split("\\n").length);
`;

/** Uses orval's client, and prints the same lines as the programs in other languages. */
const clientProgram = `
import { createBooks, getBooks, listBooks, replaceBooks, runBatch, updateBooks, type Books } from "./client.ts";

declare const process: { readonly argv: readonly string[] };
const [, , token = ""] = process.argv;
const authorization = \`Bearer \${token}\`;
const headers = { authorization };
const fail = (answer: unknown): never => { throw new Error(JSON.stringify(answer)); };
const author = { name: "Jane Austen" };

const created = await createBooks({ title: "Emma", author, year: 1815, price: 9.5 }, { headers });
const emma: Books = created.status === 201 ? created.data : fail(created);
console.log("created", emma.title, emma.status);
const listed = await listBooks({ "year[gte]": 1800, sort: "-year", limit: 5 }, { headers });
if (listed.status !== 200) fail(listed);
else console.log("listed", listed.data.total, listed.data.data.map(({ title }) => title).join(" "));
const etag = created.headers.get("etag") ?? "";
const unchanged = await getBooks(emma.id, { headers: { authorization, "if-none-match": etag } });
console.log("unchanged", unchanged.status);
const replacement = { title: "Emma", author, year: 1815, status: "in-print" } as const;
const replaced = await replaceBooks(emma.id, replacement, { headers: { authorization, "if-match": etag } });
console.log("replaced", replaced.status === 200 ? replaced.data.status : fail(replaced));
const patched = await updateBooks(emma.id, { price: 12.5 }, { headers });
const book = patched.status === 200 ? patched.data : fail(patched);
console.log("patched", book.price, book.status);
const operations = [
  { method: "POST", path: "/orders", body: { customer: "Ada" } },
  { method: "DELETE", path: \`/books/\${emma.id}\` },
] as const;
const batch = await runBatch({ operations: [...operations] }, {}, { headers });
console.log("batch", batch.status === 200 ? batch.data.results.map(({ status }) => status).join(" ") : fail(batch));
`;

const plainProgram = `
import { createOrders } from "./plain.ts";
const headers = { authorization: \`Bearer \${process.argv[2]}\` };
const { status, data } = await createOrders({ customer: "Ada" }, { headers });
console.log(status, data.customer);
`;

let app: TestApp;
let folder: string;
before(async () => {
  if (skipOnBun) return;
  app = await startShop(hardCollections);
  folder = await mkdtemp(join(tmpdir(), "restante-typescript-"));
  await writeFile(
    join(folder, "openapi.json"),
    await (await app.request("/-/openapi.json")).text(),
  );
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
after(async () => {
  await app?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** The compiler's errors for these files; empty when there are none. */
async function compile(...files: readonly string[]): Promise<string> {
  const strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  const modules = ["--module", "nodenext", "--allowImportingTsExtensions", "--target", "esnext"];
  const libraries = ["--types", "", "--lib", "esnext,dom,dom.iterable"];
  const flags = ["--noEmit", "--ignoreConfig", ...modules, ...libraries, ...strict];
  return run(compiler, [...flags, ...files.map((name) => join(folder, name))]).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

describe("the document", () => {
  it("gives types with openapi-typescript, and a working client with openapi-fetch", {
    skip: skipOnBun,
  }, async () => {
    const { default: openapiTypescript, astToString } = await import("openapi-typescript");
    const syntaxTree = await openapiTypescript(pathToFileURL(join(folder, "openapi.json")), {
      defaultNonNullable: false,
    });
    await writeFile(join(folder, "types.ts"), astToString(syntaxTree));
    await writeFile(join(folder, "types-program.ts"), typesProgram);
    await writeFile(join(folder, "fetch-program.ts"), fetchProgram);
    await symlink(await fetchPackage("openapi-fetch", "0.17.0"), join(folder, "node_modules"));
    assert.equal(await compile("types.ts", "types-program.ts", "fetch-program.ts"), "");
    const program = ["--disable-warning=ExperimentalWarning", join(folder, "fetch-program.ts")];
    const { stdout } = await run(process.execPath, [...program, app.url, app.admin]);
    const more = ["hard 2026-01-01 true M", "lines string 1"];
    assert.deepEqual(stdout.trimEnd().split("\n"), [...expectedSteps, ...more]);
  });

  it("gives a working client with orval", { skip: skipOnBun }, async () => {
    const { generate } = await import("orval");
    // Where an operation takes JSON and a form, orval sends a Content-Type if it is told which.
    const include = ["application/json", "application/merge-patch+json"];
    const input = { target: join(folder, "openapi.json") };
    const output = {
      target: join(folder, "client.ts"),
      client: "fetch",
      baseUrl: app.url,
      override: { contentType: { include } },
    } as const;
    await generate({ input, output }, folder);
    await writeFile(join(folder, "client-program.ts"), clientProgram);
    assert.equal(await compile("client.ts", "client-program.ts"), "");
    const program = ["--disable-warning=ExperimentalWarning", join(folder, "client-program.ts")];
    const { stdout } = await run(process.execPath, [...program, app.admin]);
    assert.deepEqual(stdout.trimEnd().split("\n"), expectedSteps);
  });

  it("needs no option of orval where a collection has no files", { skip: skipOnBun }, async () => {
    const { generate } = await import("orval");
    const input = { target: join(folder, "openapi.json") };
    const output = { target: join(folder, "plain.ts"), client: "fetch", baseUrl: app.url } as const;
    await generate({ input, output }, folder);
    await writeFile(join(folder, "plain-program.ts"), plainProgram);
    const program = ["--disable-warning=ExperimentalWarning", join(folder, "plain-program.ts")];
    const { stdout } = await run(process.execPath, [...program, app.admin]);
    assert.equal(stdout, "201 Ada\n");
  });
});
