// `restante types`: TypeScript types of the collections, which compile and match the schemas.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { restante } from "../src/index.ts";
import { collectionComponents } from "../src/model/collection-components.ts";
import { reservedNames, writeTypes } from "../src/model/typescript.ts";
import { run } from "./process.ts";
import { isLong } from "./seeds.ts";

const compiler = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-types-"));
});
after(() => rm(folder, { recursive: true }));

/** The compiler's errors for a module that uses the types; empty when there are none. */
async function compile(types: string, program = ""): Promise<string> {
  await writeFile(join(folder, "types.ts"), types);
  await writeFile(join(folder, "program.ts"), program);
  const strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  // The types of browsers are most of what the compiler would read.
  const library = ["--target", "esnext", "--lib", "esnext", "--types", ""];
  // One checker, which leaves out the libraries, takes two thirds of the time.
  const fast = ["--skipLibCheck", "--singleThreaded"];
  const flags = ["--noEmit", "--ignoreConfig", ...fast, ...library, ...strict];
  const files = [join(folder, "types.ts"), join(folder, "program.ts")];
  return promisify(execFile)(compiler, [...flags, ...files]).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

const typesOf = (name: string, schema?: Record<string, unknown>) =>
  writeTypes(collectionComponents([{ name, schema }]));

const people = {
  type: "object",
  description: "Somebody we know. */ And more.",
  properties: {
    name: { type: "string", description: "In full." },
    age: { type: ["integer", "null"] },
    role: { enum: ["author", 1, null, true] },
    only: { const: { a: [1, "b"] } },
    tags: { type: "array", items: { type: ["string", "number"] } },
    pair: { type: "array", prefixItems: [{ type: "string" }, {}], items: false, minItems: 1 },
    scores: { type: "object", additionalProperties: { type: "number" } },
    either: { anyOf: [{ type: "string" }, { $ref: "#/$defs/address" }] },
    both: { allOf: [{ $ref: "#/$defs/address" }, { properties: { door: { type: "string" } } }] },
    friends: { type: "array", items: { $ref: "#" } },
    nothing: false,
    anything: true,
    "odd name": { type: "boolean", deprecated: true },
    password: { type: "string", writeOnly: true },
    rank: { type: "integer", readOnly: true },
  },
  required: ["name", "password", "rank"],
  additionalProperties: false,
  $defs: {
    address: {
      type: "object",
      properties: { city: { type: "string" }, up: { $ref: "#/$defs/address" } },
      required: ["city"],
    },
  },
};

/** What the compiler says of a text does not depend on the runtime. */
const skip = "bun" in process.versions && !isLong && "it runs under Node";

describe("the types of a collection", { skip }, () => {
  it("match its schema, for reading and for writing", async () => {
    const types = typesOf("people", people);
    const program = `
      import type { People, PeopleAddress, PeopleDraft } from "./types.ts";
      type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
      export const checks: readonly [
        Same<People["id"], string>, Same<People["createdAt"], string>, Same<People["name"], string>,
        Same<People["age"], number | null | undefined>, Same<People["role"], "author" | 1 | null | true | undefined>,
        Same<People["tags"], readonly (string | number)[] | undefined>,
        Same<People["pair"], readonly [string, unknown?] | undefined>,
        Same<NonNullable<People["scores"]>[string], number>,
        Same<People["either"], string | PeopleAddress | undefined>,
        Same<People["rank"], number>, Same<People["odd name"], boolean | undefined>,
        Same<NonNullable<People["both"]>["city"], string>,
        Same<"password" extends keyof People ? 1 : 0, 0>, Same<"rank" extends keyof PeopleDraft ? 1 : 0, 0>,
        Same<"id" extends keyof PeopleDraft ? 1 : 0, 0>, Same<PeopleDraft["password"], string>,
        Same<NonNullable<PeopleDraft["friends"]>[number], PeopleDraft>,
      ] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true];
      export const draft: PeopleDraft = { name: "Ada", password: "…", only: { a: [1, "b"] } };
    `;
    assert.equal(await compile(types, program), "", types);
    assert.match(types, /\/\*\* In full\. \*\/\n {2}readonly name: string;/);
    assert.match(types, /Somebody we know\. \* \/ And more\./);
    assert.match(types, /\/\*\* @deprecated \*\/\n {2}readonly "odd name"\?: boolean;/);
  });

  it("reject what the schema rejects", async () => {
    const program = [
      'import type { People, PeopleDraft } from "./types.ts";',
      'export const a: PeopleDraft = { name: "Ada" };',
      'export const b: PeopleDraft = { name: "Ada", password: "…", nmae: "" };',
      'export const c: PeopleDraft = { name: 1, password: "…" };',
      'export const d = (one: People) => { one.id = ""; };',
    ];
    const found = await compile(typesOf("people", people), program.join("\n"));
    for (const line of [2, 3, 4, 5]) assert.match(found, new RegExp(`program.ts\\(${line},`));
  });

  it("accept any fields without a schema", async () => {
    const program = `
      import type { Notes, NotesDraft } from "./types.ts";
      export const draft: NotesDraft = { text: "…", count: 1 };
      export const read = ({ id, text }: Notes): readonly [string, unknown] => [id, text];
    `;
    assert.equal(await compile(typesOf("notes"), program), "");
  });

  it("have members of any name", async () => {
    const names = [
      "constructor",
      "toString",
      "valueOf",
      "then",
      "0",
      "a b",
      "*/",
      "\u0000",
      "\u2028",
    ];
    const members = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const schema = {
      $defs: { constructor: { type: "object", properties: members } },
      properties: { ...members, toString: { $ref: "#/$defs/constructor" } },
      required: names,
    };
    const program = `import type { ConstructorDraft } from "./types.ts";
      export const read = (draft: ConstructorDraft): string => draft["*/"] + draft.constructor;`;
    assert.equal(await compile(typesOf("constructor", schema), program), "");
  });

  it("have members that are required and not declared", async () => {
    const schema = {
      properties: { name: { type: "string" }, size: { required: ["width"], properties: {} } },
      required: ["name", "code"],
      additionalProperties: { type: "number" },
    };
    const program = `
      import type { ThingsDraft } from "./types.ts";
      export const draft: ThingsDraft = { name: "a", code: 1, size: { width: "any" } };
      export const wrong: ThingsDraft = { name: "a" };
    `;
    const found = await compile(typesOf("things", schema), program);
    assert.match(found, /^[^\n]*program\.ts\(4,[^\n]*\n/);
    assert.doesNotMatch(found, /program\.ts\(3,|types\.ts\(/);
  });

  it("are a union for oneOf and anyOf", async () => {
    const branch = (kind: string) => ({
      properties: { kind: { const: kind }, [kind]: { type: "number" } },
      required: ["kind", kind],
      additionalProperties: false,
    });
    const schema = { oneOf: [branch("radius"), branch("side")] };
    const program = `
      import type { Shapes, ShapesDraft } from "./types.ts";
      export const draft: ShapesDraft = { kind: "side", side: 1 };
      export const size = (shape: Shapes): number => (shape.kind === "side" ? shape.side : shape.radius);
    `;
    assert.equal(await compile(typesOf("shapes", schema), program), "");
  });

  it("have the resources that expand adds", async () => {
    const described = collectionComponents([{ name: "orders" }, { name: "customers" }]);
    const references = {
      ...{ customer: { collection: "customers" }, earlier: { collection: "orders" } },
      "lines[].product": { collection: "elsewhere" },
    };
    const types = writeTypes(described, new Map([["orders", references]]));
    const program = `
      import type { Customers, Orders } from "./types.ts";
      export const customer = (order: Orders): Customers | null | undefined =>
        order._expanded?.earlier?._expanded?.customer;
      export const products = ({ _expanded }: Orders): readonly (object | null)[] =>
        _expanded?.["lines[].product"] ?? [];
      export const wrong = ({ _expanded }: Orders) => _expanded?.product;`;
    assert.match(await compile(types, program), /^[^\n]*program\.ts\(7,[^\n]*'product'[^\n]*\n$/);
  });

  it("have unique names for any collection names", async () => {
    const names = [
      "a-b",
      "a_b",
      "ab",
      "a--b",
      "2024",
      "0",
      "record",
      "string",
      "array",
      "people-draft",
      "collections",
    ];
    const all = [...names, "people", "x-"].map((name) => ({ name }));
    const described = collectionComponents(all, reservedNames);
    const types = writeTypes(described);
    const exported = [...types.matchAll(/export (?:interface|type) (\w+)/g)].map(
      ([, name]) => name,
    );
    assert.equal(new Set(exported).size, 2 * all.length + reservedNames.length);
    assert.equal(await compile(types), "", types);
  });
});

describe("restante types", () => {
  // A definition cannot have what is never shown in a list of itself.
  const { friends: _, ...properties } = people.properties;
  const schema = { ...people, properties };

  it("prints the types of the store, and nothing else", async () => {
    const data = join(folder, "data");
    const server = await restante({ data });
    const put = (name: string, definition: object) =>
      server.fetch(
        new Request(`http://localhost/-/collections/${name}`, {
          method: "PUT",
          headers: {
            authorization: `Bearer ${server.firstAdminToken}`,
            "content-type": "application/json",
          },
          body: JSON.stringify(definition),
        }),
      );
    assert.equal((await put("people", { schema })).status, 201);
    assert.equal((await put("site-visits", { singular: "site-visit" })).status, 201);
    await server.close();
    const { code, stdout, stderr } = await run(["types", "--data", data], { cwd: folder });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(await compile(stdout), "");
    assert.match(stdout, /export interface People \{/);
    assert.match(stdout, /export interface SiteVisitDraft \{/);
  });

  it("prints the types of a folder of definitions, without a store", async () => {
    const collections = join(folder, "collections");
    await mkdir(collections);
    await writeFile(join(collections, "people.json"), JSON.stringify({ schema }));
    const { code, stdout, stderr } = await run(["types", "--collections", collections], {
      cwd: folder,
    });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout, typesOf("people", schema));
  });

  it("prints the types of the shop", async () => {
    const shop = fileURLToPath(new URL("../examples/shop/collections", import.meta.url));
    const { stdout } = await run(["types", "--collections", shop], { cwd: folder });
    const program = `import type { Order } from "./types.ts";
      export const suppliers = ({ _expanded }: Order): readonly (string | undefined)[] =>
        (_expanded?.["lines[].product"] ?? []).map((product) => product?._expanded?.supplier?.name);`;
    assert.equal(await compile(stdout, program), "");
  });

  it("reports errors in the folder, or a missing store", async () => {
    const broken = join(folder, "broken");
    await mkdir(broken);
    await writeFile(join(broken, "people.json"), '{ "schema": { "type": "objet" } }');
    const wrong = await run(["types", "--collections", broken], { cwd: folder });
    assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /people\.json/);
    const missing = await run(["types", "--data", "nowhere"], { cwd: folder });
    assert.deepEqual([missing.code, missing.stdout], [1, ""]);
    assert.match(missing.stderr, /There is no store in/);
  });
});
