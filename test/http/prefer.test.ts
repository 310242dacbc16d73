// Prefer: return=minimal|representation (RFC 7240), and unknown preferences.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ baseUrl: "https://api.example/v1" });
  client = new Client(app);
});
after(() => app.stop());

const address = "https://api.example/v1/people/ada";

type Ask = (prefer: string) => Promise<Answer>;

/** Each changes the same resource, with the full and the minimal status. */
const changes: Readonly<Record<string, { ask: Ask; full: number; brief: number }>> = {
  "a PUT that creates": {
    ask: async (prefer) => {
      await client.remove("/people/ada");
      return client.put("/people/ada", { n: 1 }, { prefer });
    },
    full: 201,
    brief: 201,
  },
  "a PUT that replaces": {
    ask: (prefer) => client.put("/people/ada", { n: 2 }, { prefer }),
    full: 200,
    brief: 204,
  },
  "a PATCH": {
    ask: (prefer) => client.patch("/people/ada", { n: 3 }, { prefer }),
    full: 200,
    brief: 204,
  },
  "a JSON PATCH": {
    ask: (prefer) =>
      client.jsonPatch("/people/ada", [{ op: "add", path: "/n", value: 4 }], { prefer }),
    full: 200,
    brief: 204,
  },
};

const isMinimal = (answer: Answer): boolean =>
  answer.body === "" && answer.headers.get("preference-applied") === "return=minimal";

describe("Prefer: return=minimal", () => {
  it("on POST: 201 with Location and ETag, and an empty body", async () => {
    const made = await client.post("/people", { n: 1 }, { prefer: "return=minimal" });
    assert.equal(made.status, 201);
    assert.equal(made.body, "");
    assert.equal(made.headers.get("preference-applied"), "return=minimal");
    assert.equal(made.headers.get("content-type"), null);
    assert.equal(made.headers.get("content-location"), null);
    const location = made.headers.get("location") ?? "";
    assert.match(location, /^https:\/\/api\.example\/v1\/people\/[0-9a-f-]{36}$/);
    const read = await client.get(location.replace("https://api.example/v1", ""));
    assert.equal(read.status, 200);
    assert.equal(made.headers.get("etag"), read.headers.get("etag"));
  });

  for (const [title, { ask, brief }] of Object.entries(changes)) {
    it(`on ${title}: ${brief} and nothing more`, async () => {
      const answer = await ask("return=minimal");
      assert.equal(answer.status, brief);
      assert.equal(answer.body, "");
      assert.equal(answer.headers.get("preference-applied"), "return=minimal");
      for (const name of ["content-type", "content-location"])
        assert.equal(answer.headers.get(name), null, name);
      assert.equal(answer.headers.get("location"), brief === 201 ? address : null);
      const read = await client.get("/people/ada");
      // A PUT returns no ETag, a PATCH does.
      const etag = title.includes("PATCH") ? read.headers.get("etag") : null;
      assert.equal(answer.headers.get("etag"), etag);
    });
  }

  it("sends the empty body of a 201 with its length, and a 204 without", async () => {
    const ask = async (status: number) => {
      const head = `PUT /people/wire HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\nContent-Type: application/json\r\nPrefer: return=minimal\r\nContent-Length: 2\r\n\r\n{}`;
      const [answer] = (await send(app.port, head)).responses;
      assert.equal(answer?.status, status);
      return answer?.headers ?? {};
    };
    const created = await ask(201);
    assert.equal(created["content-length"], "0");
    assert.equal(created["content-type"], undefined);
    const replaced = await ask(204);
    for (const name of ["content-length", "transfer-encoding", "content-type"])
      assert.equal(replaced[name], undefined, name);
  });
});

describe("Prefer: return=representation", () => {
  it("on POST is the default, and Preference-Applied says so", async () => {
    const { status, headers, body } = await client.post(
      "/people",
      { n: 1 },
      { prefer: "return=representation" },
    );
    assert.equal(status, 201);
    assert.equal(headers.get("preference-applied"), "return=representation");
    assert.equal(headers.get("content-location"), headers.get("location"));
    assert.equal(JSON.parse(body).n, 1);
  });

  for (const [title, { ask, full }] of Object.entries(changes)) {
    it(`on ${title}: ${full}, the body and Content-Location`, async () => {
      const answer = await ask("return=representation");
      assert.equal(answer.status, full);
      assert.equal(answer.headers.get("preference-applied"), "return=representation");
      assert.equal(answer.headers.get("content-location"), address);
      assert.equal((await client.get("/people/ada")).body, answer.body);
    });
  }
});

describe("Prefer", () => {
  const minimal = [
    "RETURN=minimal",
    'return="minimal"',
    "return = minimal",
    "return=minimal; foo=bar",
    "respond-async, return=minimal",
    "wait=10,return=minimal,handling=lenient",
    'note="a, b; c", return=minimal',
    "return=minimal, return=minimal",
  ];
  for (const prefer of minimal) {
    it(`understands ${prefer}`, async () => {
      await client.put("/people/read", {});
      assert.ok(isMinimal(await client.patch("/people/read", {}, { prefer })));
    });
  }

  const ignored = [
    "return=minimal, return=representation",
    "return=representation,return=minimal",
    "return",
    "return=",
    "return=everything",
    "return=minimally",
    "no-return=minimal",
    "respond-async",
    "foo; return=minimal",
    'note="return=minimal"',
    'note="x, return=minimal"',
    "",
    ",;=",
    '"',
  ];
  for (const prefer of ignored) {
    it(`ignores ${prefer || "an empty value"}`, async () => {
      await client.put("/people/read", {});
      const { status, headers, body } = await client.patch("/people/read", { n: 1 }, { prefer });
      assert.equal(status, 200);
      assert.equal(headers.get("preference-applied"), null);
      assert.equal(JSON.parse(body).n, 1);
    });
  }

  it("does not change cacheable responses", async () => {
    await client.put("/people/cached", { n: 1 });
    const prefer = { prefer: "return=minimal" };
    for (const path of ["/people/cached", "/people"]) {
      const plain = await client.get(path);
      const preferred = await client.get(path, prefer);
      assert.equal(preferred.body, plain.body);
      assert.equal(preferred.headers.get("preference-applied"), null);
    }
    const written = await client.patch("/people/cached", {}, prefer);
    assert.equal(written.headers.get("cache-control"), "no-store");
  });

  it("does not change a DELETE or an error", async () => {
    await client.put("/people/gone", {});
    const prefer = { prefer: "return=representation" };
    assert.equal((await client.remove("/people/gone", prefer)).status, 204);
    const rejected = await client.patch("/people/gone", {}, { prefer: "return=minimal" });
    assert.equal(rejected.status, 404);
    assert.match(rejected.body, /not-found/);
    assert.equal(rejected.headers.get("preference-applied"), null);
  });
});
