// A TypeScript client generated from the OpenAPI document: it compiles, rejects wrong types, and works.
// @tier all

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "@hey-api/openapi-ts";
import { isLong } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";

const run = promisify(execFile);
const compiler = fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url));

const definition = {
  schema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1 },
      email: { type: "string", format: "email" },
      age: { type: "integer", minimum: 0 },
      role: { enum: ["author", "reader"], default: "reader" },
      password: { type: "string", minLength: 8, writeOnly: true },
      address: { $ref: "#/$defs/address" },
    },
    required: ["name", "email", "password"],
    additionalProperties: false,
    $defs: {
      address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
  unique: ["email"],
  indexed: ["age"],
};

/** Uses every operation with its types, and returns the results. */
const program = `
import { client } from "./client/client.gen.ts";
import { createPeople, deletePeople, getPeople, listNews, listPeople, replacePeople, updatePeople } from "./client/sdk.gen.ts";
import type { People, PeopleDraft } from "./client/types.gen.ts";

declare const process: { readonly argv: readonly string[] };
const [, , baseUrl = "", auth = ""] = process.argv;

/** Who may not read gets 204, which has no body. */
function asPeople(data: People | void): People {
  if (typeof data !== "object") throw new Error("no resource");
  return data;
}
client.setConfig({ baseUrl, auth });

const draft: PeopleDraft = { name: "Ada", email: "ada@example.org", age: 36, password: "correct horse", address: { city: "London" } };
const created = await createPeople({ body: draft, headers: { "Idempotency-Key": '"one"' } });
const ada: People = created.data ?? asPeople();
await createPeople({ body: { name: "Bob", email: "bob@example.org", age: 20, password: "battery staple" } });

const again = await createPeople({ body: { ...draft, name: "Ada again" } });
const listed = await listPeople({ query: { "age[gte]": 30, sort: "-age,name" }, throwOnError: true });
const found = await getPeople({ path: { id: ada.id }, throwOnError: true });
const city: string | undefined = found.data.address?.city;
const updated = await updatePeople({ path: { id: ada.id }, body: { age: null, role: "author" }, throwOnError: true });
const replaced = await replacePeople({ path: { id: "eve" }, body: { name: "Eve", email: "eve@example.org", password: "staple battery" }, throwOnError: true });
const removed = await deletePeople({ path: { id: ada.id } });
const gone = await getPeople({ path: { id: ada.id } });
client.setConfig({ auth: undefined });
const news = await listNews({ throwOnError: true });

console.log(JSON.stringify({
  ada,
  city,
  conflict: [again.response?.status, again.error?.errors?.[0]?.pointer],
  listed: [listed.data.total, listed.data.data.map(({ name }) => name)],
  updated: [asPeople(updated.data).age, asPeople(updated.data).role],
  replaced: [replaced.response.status, asPeople(replaced.data).id],
  removed: removed.response?.status,
  gone: [gone.response?.status, gone.error?.title],
  news: news.data.total,
}));
`;

/** Each must be found by the compiler. */
const mistakes: Readonly<Record<string, string>> = {
  "a field that does not exist":
    'await createPeople({ body: { name: "A", email: "a@b.c", password: "12345678", nmae: "A" } });',
  "a required field that is missing": 'await createPeople({ body: { name: "A" } });',
  "a value of another type": 'await updatePeople({ path: { id: "a" }, body: { age: "36" } });',
  "a value outside the enum": 'await updatePeople({ path: { id: "a" }, body: { role: "king" } });',
  "an id that only the server sets":
    'await createPeople({ body: { id: "a", name: "A", email: "a@b.c", password: "12345678" } });',
  "a filter that does not exist": 'await listPeople({ query: { "shoe[gte]": 3 } });',
};

let app: TestApp;
let folder: string;
before(async () => {
  app = await startApp();
  const client = new Client(app);
  for (const [name, rules] of Object.entries({
    people: definition,
    news: { access: { read: "public" } },
  })) {
    const { status, body } = await client.put(`/-/collections/${name}`, rules);
    assert.equal(status, 201, body);
  }
  folder = await mkdtemp(join(tmpdir(), "restante-client-"));
  const input = join(folder, "openapi.json");
  await writeFile(input, await (await app.request("/-/openapi.json")).text());
  await createClient({
    input,
    output: { path: join(folder, "client"), module: { extension: ".ts" } },
    plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
    logs: { level: "silent", file: false },
  });
  const options = {
    target: "esnext",
    module: "nodenext",
    lib: ["esnext", "dom", "dom.iterable"],
    types: [],
  };
  const strictness = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    exactOptionalPropertyTypes: false,
  };
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: { ...options, ...strictness, skipLibCheck: true },
      files: ["program.ts"],
    }),
  );
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true });
});

/** What the compiler has to say, nothing where all is well. */
async function compile(text: string): Promise<string> {
  await writeFile(join(folder, "program.ts"), text);
  return run(compiler, ["-p", folder]).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

/** What the compiler says of a text does not depend on the runtime. */
const isCompiled = isLong || !("bun" in process.versions);
const skip = !isCompiled && "it runs under Node";

describe("a client generated from the document", () => {
  it("type-checks, and works against the running server", async () => {
    if (isCompiled) assert.equal(await compile(program), "");
    else await writeFile(join(folder, "program.ts"), program);
    const flags = "bun" in process.versions ? [] : ["--disable-warning=ExperimentalWarning"];
    const { stdout } = await run(process.execPath, [
      ...flags,
      join(folder, "program.ts"),
      app.url,
      app.admin,
    ]);
    const { ada, ...others } = JSON.parse(stdout);
    const { id, createdAt, updatedAt, ...fields } = ada;
    assert.deepEqual(fields, {
      name: "Ada",
      email: "ada@example.org",
      age: 36,
      address: { city: "London" },
      role: "reader",
    });
    assert.ok(id && createdAt && updatedAt);
    assert.deepEqual(others, {
      city: "London",
      conflict: [409, "/email"],
      listed: [1, ["Ada"]],
      updated: [undefined, "author"].map((value) => value ?? null),
      replaced: [201, "eve"],
      removed: 204,
      gone: [404, "There is nothing at this address"],
      news: 0,
    });
    assert.equal(await app.total("people"), 2);
  });

  it("does not type-check with a mistake", { skip }, async () => {
    const names = "createPeople, getPeople, listPeople, updatePeople";
    const lines = Object.values(mistakes);
    const found = await compile(
      [`import { ${names} } from "./client/sdk.gen.ts";`, ...lines].join("\n"),
    );
    for (const [index, mistake] of Object.keys(mistakes).entries()) {
      assert.match(found, new RegExp(`program.ts\\(${index + 2},`), `${mistake}: ${found}`);
    }
  });
});
