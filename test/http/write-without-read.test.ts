// Callers who may write and not read: no response to a write reveals what is stored.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

/** In every stored text and in some stored names; no request here sends it. */
const canary = "canary";

const schema = {
  properties: {
    note: { type: "string" },
    code: { type: "string" },
    age: { type: "integer" },
    role: { type: "string", readOnly: true },
    hidden: { type: "string", writeOnly: true },
    address: { properties: { city: { type: "string" }, zip: { type: "integer" } } },
  },
};

/** The stored resource is not valid any more, so that a patch is rejected for its other fields. */
const stricter = {
  properties: {
    ...schema.properties,
    note: { type: "string", maxLength: 5 },
    address: { properties: { city: { enum: ["Rome"] }, zip: { type: "integer" } } },
  },
  additionalProperties: false,
};

const stored = (code: string) => ({
  note: `${canary} of a note`,
  code: `${canary}-${code}`,
  age: 42,
  role: canary,
  hidden: canary,
  address: { city: canary, zip: 1 },
  [`${canary}Name`]: [canary, { deep: canary }],
});

const textOf = ({ status, headers, body }: Answer): string =>
  `${status} ${JSON.stringify([...headers])} ${body}`;

const folder = fileURLToPath(new URL("actions", import.meta.url));

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`writes without permission to read, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let blind: Client;
    let reader: Client;
    let nobody: Client;
    before(async () => {
      app = await startApp({ actions: folder, ...(store === "postgres" ? { store } : {}) });
      admin = new Client(app);
      nobody = new Client(app, null);
      const writing = ["vault:create", "vault:update", "vault:delete", "action:verbs"];
      blind = new Client(app, await app.token(...writing));
      reader = new Client(app, await app.token(...writing, "vault:read"));
    });
    after(() => app.stop());

    async function fill(definition: object): Promise<void> {
      await admin.remove("/-/collections/vault?confirm=vault");
      const created = await admin.put("/-/collections/vault", { schema, unique: ["code"] });
      assert.ok(created.status < 300, created.body);
      for (const id of ["a", "b"]) {
        const { status, body } = await admin.put(`/vault/${id}`, stored(id));
        assert.equal(status, 201, body);
      }
      const defined = await admin.put("/-/collections/vault", definition);
      assert.equal(defined.status, 200, defined.body);
    }

    it("an empty PATCH returns nothing; a caller who may read gets the resource", async () => {
      await fill({ schema, unique: ["code"] });
      const seen = await reader.patch("/vault/a", {});
      assert.equal(seen.status, 200);
      assert.match(seen.body, /canary/);
      const answer = await blind.patch("/vault/a", {});
      assert.deepEqual([answer.status, answer.body], [204, ""]);
      assert.equal(answer.headers.get("content-type"), null);
      assert.match(answer.headers.get("etag") ?? "", /^"/);
    });

    it("Preference-Applied is sent only when the preference was applied", async () => {
      const prefer = (wish: string) => ({ prefer: `return=${wish}` });
      const full = await blind.patch("/vault/a", {}, prefer("representation"));
      assert.deepEqual([full.status, full.headers.get("preference-applied")], [204, null]);
      const minimal = await blind.patch("/vault/a", {}, prefer("minimal"));
      assert.equal(minimal.headers.get("preference-applied"), "return=minimal");
    });

    it("a JSON Patch with a test needs permission to read", async () => {
      const test = [{ op: "test", path: "/age", value: 42 }];
      const problem = assertProblem(await blind.jsonPatch("/vault/a", test), "insufficient-scope");
      assert.match(problem.detail, /vault:read/);
      assert.equal((await reader.jsonPatch("/vault/a", test)).status, 200);
      const batched = { method: "PATCH", path: "/vault/a", body: test };
      const type = { contentType: "application/json-patch+json" };
      assertProblem(await blind.batch([{ ...batched, ...type }]), "insufficient-scope");
    });

    it("a read-only value cannot be guessed", async () => {
      for (const role of [canary, "other"]) {
        assertProblem(await blind.patch("/vault/a", { role }), "invalid-body");
        assertProblem(await blind.put("/vault/a", { role }), "invalid-body");
      }
      assert.equal((await reader.patch("/vault/a", { role: canary })).status, 200);
    });

    it("errors about stored data are not reported, those about sent data are", async () => {
      await fill({ schema: stricter, unique: ["code"] });
      const answer = await blind.patch("/vault/a", { age: "old", address: { zip: "x" } });
      const { errors } = assertProblem(answer, "invalid-body") as {
        errors?: readonly { readonly pointer?: string }[];
      };
      assert.deepEqual(
        errors?.map(({ pointer }) => pointer),
        ["/age", "/address/zip", ""],
      );
      assert.doesNotMatch(textOf(answer), /canary/);
      assert.match(textOf(await reader.patch("/vault/a", { age: "old" })), /canary/);
    });

    it("a replay of a POST returns nothing either", async () => {
      await fill({ schema, unique: ["code"] });
      const key = { "idempotency-key": '"once"' };
      const first = await blind.post("/vault", { note: "n" }, key);
      const again = await blind.post("/vault", { note: "n" }, key);
      for (const { status, body } of [first, again]) assert.deepEqual([status, body], [201, ""]);
      assert.equal(again.headers.get("idempotency-replayed"), "true");
      assert.equal(again.headers.get("location"), first.headers.get("location"));
    });

    it("a POST without a token to a collection that is not public gets no body", async () => {
      await admin.put("/-/collections/letters", { access: { create: "public" } });
      const answer = await nobody.post("/letters", { text: "hello" });
      assert.deepEqual([answer.status, answer.body], [201, ""]);
      await admin.put("/-/collections/wall", { access: { create: "public", read: "public" } });
      assert.match((await nobody.post("/wall", { text: "hello" })).body, /hello/);
    });

    it("no response to any write contains a stored text", async () => {
      const seed = newSeed(`writes without the right to read, on ${store}`);
      for (let run = 0; run < runs(2, 40); run++) {
        const random = randomNumbers(seed + run);
        const isStrict = random() < 0.5;
        await fill({ schema: isStrict ? stricter : schema, unique: ["code"] });
        // Who may read is shown what is stored.
        assert.match(textOf(await reader.patch("/vault/a", {})), /canary/);
        for (let step = 0; step < 40; step++) {
          const write = randomWrite(random);
          const answer = await write(blind);
          assert.doesNotMatch(textOf(answer), /canary/i, `seed ${seed + run}, step ${step}`);
          await write(reader);
        }
      }
    });
  });
}

type Write = (client: Client) => Promise<Answer>;

/** One of every way to write, with what does not name anything stored. */
function randomWrite(random: () => number): Write {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const id = pick(["a", "b", "c"]);
  const path = `/vault/${id}`;
  const text = `sent-${Math.floor(random() * 1e9)}`;
  const fields = pick<object>([
    {},
    { note: text },
    { note: 5, age: "x" },
    { code: text, age: 1.5 },
    { address: { zip: 2 } },
    { address: { city: 1 } },
    { address: null },
    { role: text },
    { extra: text },
    { id: "other" },
    { note: null, hidden: null },
  ]);
  const operations = pick<readonly object[]>([
    [],
    [{ op: "copy", from: "/note", path: "/code" }],
    [{ op: "move", from: "/note", path: "/extra" }],
    [{ op: "copy", from: "/address/city", path: "/age" }],
    [{ op: "test", path: "/note", value: text }],
    [{ op: "replace", path: "/age", value: text }],
    [{ op: "add", path: "/address/zip", value: text }],
    [{ op: "remove", path: "/missing" }],
    [{ op: "add", path: "", value: { note: text } }],
  ]);
  const headers = pick<Record<string, string>>([
    {},
    {},
    { prefer: "return=representation" },
    { "if-match": '"none"' },
    { "if-match": "*" },
    { "if-none-match": "*" },
  ]);
  const conditions = pick<object>([{}, { ifMatch: "*" }, { ifMatch: '"none"' }]);
  const jsonPatch = { contentType: "application/json-patch+json" };
  const key = { "idempotency-key": JSON.stringify(pick(["k1", "k2", text])) };
  const verbs: readonly (readonly unknown[])[] = [
    ["create", "vault", fields],
    ["put", "vault", id, fields],
    ["patch", "vault", id, fields],
    ["patch", "vault", id, operations],
    ["batch", [{ method: "PATCH", path, body: fields, ...conditions }]],
  ];
  const [verb, ...args] = pick(verbs);
  const form = new URLSearchParams({ note: text, age: pick(["1", "x"]) });
  const field = `--x\r\nContent-Disposition: form-data; name="note"\r\n\r\n${text}\r\n`;
  const file = `--x\r\nContent-Disposition: form-data; name="file"; filename="f.txt"\r\n\r\n${text}\r\n`;
  const asMultipart = { "content-type": "multipart/form-data; boundary=x" };
  const lines = `${JSON.stringify(fields)}\n${JSON.stringify({ note: text })}\n`;
  const ndjson = { "content-type": "application/x-ndjson" };
  const asForm = { "content-type": "application/x-www-form-urlencoded" };
  return pick<Write>([
    (client) => client.post("/vault", fields, { ...headers, ...key }),
    (client) => client.put(path, fields, headers),
    (client) => client.patch(path, fields, headers),
    (client) => client.patch(path, {}, headers),
    (client) => client.jsonPatch(path, operations, headers),
    (client) => client.post("/vault", form.toString(), asForm),
    (client) => client.post("/vault", lines, ndjson),
    (client) => client.post("/vault?atomic=true", lines, { ...ndjson, ...key }),
    (client) => client.post("/-/actions/verbs", { verb, args, isCaught: random() < 0.5 }),
    (client) =>
      client.batch(
        [
          { method: "PUT", path, body: fields, ...conditions },
          { method: "PATCH", path, body: operations, ...jsonPatch },
          { method: "PATCH", path: "/vault/a", body: {} },
        ],
        key,
      ),
    (client) => client.batch([{ method: "PATCH", path: "/vault/b", body: {} }]),
    (client) => client.post("/vault", `${field}${file}--x--\r\n`, asMultipart),
  ]);
}
