// A dry run of an import answers the same for what its caller may not see as for what does not exist.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Committer } from "../../src/store/remote-committer.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

const ndjson = { "content-type": "application/x-ndjson" };
const text = { type: "string" };
const schema = {
  properties: { code: text, a: text, b: text, status: text, parent: text, author: text },
};
const references = { parent: { collection: "tree", onDelete: "restrict" } };
const unique = ["code", ["a", "b"]];
const owner = { read: "owner", update: "owner", delete: "owner" };

/** What is the same for each caller: by whom it is asked, and what it can see. */
const definitions = {
  owned: { schema, unique, access: owner },
  ruled: {
    ...{ schema, unique },
    access: {
      read: [
        { name: "out", to: "token", where: { status: "out" }, fields: ["status", "b"] },
        { name: "mine", to: "token", where: { author: "$me" } },
      ],
      create: [{ name: "all", to: "token", set: { author: "$me" } }],
      update: [{ name: "mine", to: "token", where: { author: "$me" } }],
    },
  },
  tree: { schema, unique, references, access: owner },
  plain: { schema, unique },
};

type Fields = Readonly<Record<string, unknown>>;

interface Attempt {
  readonly collection: keyof typeof definitions;
  readonly query: string;
  /** `X` is hidden or free; and the status of the line in a dry run. */
  readonly lines: readonly (readonly [Fields, status: number])[];
  /** The status of a real request with all of these or none, when X is hidden. */
  readonly real: number;
}

const attempts: Readonly<Record<string, Attempt>> = {
  "an id of another owner": {
    ...{ collection: "owned", query: "?key=id", real: 409 },
    lines: [
      [{ id: "X", a: "new" }, 201],
      [{ id: "X", b: "again" }, 200],
      [{ id: "mine", code: "free" }, 200],
    ],
  },
  "a value of another owner": {
    ...{ collection: "owned", query: "?", real: 409 },
    lines: [[{ code: "X" }, 201]],
  },
  "values that are unique together": {
    ...{ collection: "owned", query: "?", real: 409 },
    lines: [
      [{ a: "X", b: "one" }, 201],
      [{ a: "X", b: "one" }, 409],
      [{ a: "mine", b: "one" }, 409],
    ],
  },
  "a value of another owner as the key": {
    ...{ collection: "owned", query: "?key=code", real: 409 },
    lines: [
      [{ code: "X" }, 201],
      [{ code: "X", b: "two" }, 200],
      [{ code: "mine" }, 200],
    ],
  },
  "an id of another owner beside a key": {
    ...{ collection: "owned", query: "?key=code", real: 409 },
    lines: [
      [{ code: "other", id: "X" }, 201],
      [{ code: "more", id: "mine" }, 409],
    ],
  },
  "an id and its value": {
    ...{ collection: "owned", query: "?key=id", real: 409 },
    lines: [[{ id: "X", code: "X" }, 201]],
  },
  "an id that no grant shows": {
    ...{ collection: "ruled", query: "?key=id", real: 409 },
    lines: [[{ id: "X" }, 201]],
  },
  "a value that no grant shows": {
    ...{ collection: "ruled", query: "?", real: 409 },
    lines: [[{ code: "X" }, 201]],
  },
  "a value in a resource of which other fields are seen, as the key": {
    ...{ collection: "ruled", query: "?key=code", real: 403 },
    lines: [
      [{ code: "seenX" }, 201],
      [{ code: "seenX", b: "two" }, 200],
    ],
  },
  "a value together with one that is seen": {
    ...{ collection: "ruled", query: "?key=id", real: 403 },
    lines: [
      [{ id: "new", a: "seenX", b: "one" }, 201],
      [{ id: "seen", status: "out" }, 403],
      [{ id: "mine", code: "X" }, 200],
    ],
  },
  "a target that is not seen": {
    ...{ collection: "tree", query: "?key=id", real: 400 },
    lines: [[{ id: "leaf", parent: "X" }, 400]],
  },
  "a target that the request does not create": {
    ...{ collection: "tree", query: "?key=id", real: 409 },
    lines: [
      [{ id: "X", code: "mine" }, 409],
      [{ id: "leaf", parent: "X" }, 409],
    ],
  },
  "without the right to read": {
    ...{ collection: "plain", query: "?key=id", real: 403 },
    lines: [
      [{ id: "X" }, 201],
      [{ id: "new", code: "X" }, 201],
    ],
  },
};

const hidden = { id: "X", code: "X", a: "X", b: "one", status: "draft" };
const mine = { id: "mine", code: "mine", a: "mine", b: "one", status: "draft" };
const seen = { id: "seen", code: "seenX", a: "seenX", b: "one", status: "out" };

for (const store of ["sqlite", "postgres"])
  describe(`a dry run, on ${store}`, () => {
    const it = itOn(store);
    let app: TestApp;
    let admin: Client;
    const clients = new Map<string, Client>();
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      for (const [name, definition] of Object.entries(definitions)) {
        const { status, body } = await admin.put(`/-/collections/${name}`, definition);
        assert.ok(status < 300, body);
        const scope = name === "plain" ? "create" : "*";
        const client = new Client(app, await app.token(`${name}:${scope}`));
        clients.set(name, client);
        const other = name === "plain" ? admin : new Client(app, await app.token(`${name}:*`));
        const stored = [
          [other, hidden],
          [client, mine],
          ...(name === "ruled" ? [[other, seen] as const] : []),
        ] as const;
        for (const [by, { id, ...fields }] of stored) {
          const answer = await by.put(`/${name}/${id}`, fields, { "if-none-match": "*" });
          assert.equal(answer.status, 201, answer.body);
        }
      }
    });
    after(() => app.stop());

    /** `X` names what is hidden. */
    const post = ({ collection, lines }: Attempt, query: string, word: string): Promise<Answer> => {
      const body = lines.map(([line]) => JSON.stringify(line).replaceAll("X", word)).join("\n");
      const client = clients.get(collection) as Client;
      return client.post(`/${collection}${query}`, body, ndjson);
    };
    const wordsOf = ({ status, body }: Answer, word: string): string =>
      `${status} ${body.replaceAll(/"requestId":"[^"]*"|[0-9a-f-]{36}/g, "").replaceAll(word, "X")}`;
    const statusesOf = ({ status, body }: Answer): readonly number[] => {
      assert.equal(status, 200, body);
      return body
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).status);
    };

    for (const [words, attempt] of Object.entries(attempts))
      it(`answers as if it did not exist: ${words}`, async () => {
        const { collection, query, lines, real } = attempt;
        const state = await admin.state(collection);
        for (const mode of ["", "&atomic=true"]) {
          const path = `${query}&dry-run=true${mode}`;
          const there = await post(attempt, path, "X");
          const free = await post(attempt, path, "Q");
          assert.equal(wordsOf(there, "X"), wordsOf(free, "Q"));
          if (mode !== "") continue;
          const expected = lines.map(([, status]) => status);
          assert.deepEqual(statusesOf(free), expected);
        }
        assert.equal((await post(attempt, `${query}&atomic=true`, "X")).status, real);
        assert.deepEqual(await admin.state(collection), state);
      });
  });

describe("a dry run while somebody else writes unseen", () => {
  it("answers as if the value was free", async () => {
    const data = await mkdtemp(join(tmpdir(), "restante-"));
    const owner = await startApp({ data });
    const { writer } = owner;
    let beforeTrial: (() => Promise<unknown>) | undefined;
    const committer: Committer = {
      async commit(changes) {
        const isTrial = changes.some((change) => change.kind === "all" && change.isTrial);
        const held = isTrial ? beforeTrial : undefined;
        if (isTrial) beforeTrial = undefined;
        await held?.();
        return writer.commit(changes);
      },
      erase: (erasure) => writer.erase(erasure),
      scrub: (options) => writer.scrub(options),
      lastError: undefined,
      settled: async () => undefined,
      close: async () => undefined,
    };
    const worker = await startApp({ data, adminToken: owner.admin }, undefined, committer);
    const admin = new Client(owner);
    const newClient = async (app: TestApp, subject: string) => {
      const wanted = { name: subject, subject, scopes: ["owned:*"] };
      return new Client(app, JSON.parse((await admin.post("/-/tokens", wanted)).body).token);
    };
    await admin.put("/-/collections/owned", definitions.owned);
    const [ann, bob] = [await newClient(worker, "ann"), await newClient(owner, "bob")];
    let status = 0;
    beforeTrial = async () => {
      ({ status } = await bob.post("/owned", { code: "new" }));
    };
    const { body } = await ann.post("/owned?dry-run=true", '{"code":"new"}\n', ndjson);
    assert.equal(status, 201);
    assert.deepEqual(body.match(/"status":\d+/g), ['"status":201'], body);
    await worker.stop();
    await owner.stop();
    await rm(data, { recursive: true, force: true });
  });
});
