// Problems (RFC 9457): a request for every kind, their format, and what they never contain.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { problemStatus } from "../../src/http/response/problem.ts";
import { restante } from "../../src/index.ts";
import { type ProblemKind, problemKinds } from "../../src/model/problem.ts";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { requestEverything } from "./every-response.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

const json = { "content-type": "application/json" };

let app: TestApp;
let broken: TestApp;
let data: string;
const log = captureLog();
before(async () => {
  app = await startApp({ actions: fileURLToPath(new URL("actions", import.meta.url)) });
  await app.post("people", { name: "Ada" });
  await app.request("/-/collections/busy", {
    method: "PUT",
    headers: json,
    body: '{"access":{"create":"public"},"rateLimit":{"perMinute":1}}',
  });
  await app.request("/-/collections/strict", {
    method: "PUT",
    headers: json,
    body: '{"preconditions":"required","idempotencyKey":"required"}',
  });
  data = await mkdtemp(join(tmpdir(), "restante-broken-"));
  broken = await startApp(
    { data, baseUrl: "https://api.example.org/v1", trustProxy: ["127.0.0.1"] },
    log.log,
  );
  await broken.post("people", { name: "Ada" });
  breakStore(data);
});
after(async () => {
  await app.stop();
  await broken.stop();
  await rm(data, { recursive: true });
});

/** An error that no code expects: somebody else renames a table. */
const breakStore = (folder: string): void => renameTable(folder, "resources", "elsewhere");
const mendStore = (folder: string): void => renameTable(folder, "elsewhere", "resources");

function renameTable(folder: string, name: string, newName: string): void {
  const database = new DatabaseSync(join(folder, "restante.db"));
  database.exec(`PRAGMA busy_timeout = 5000; ALTER TABLE ${name} RENAME TO ${newName}`);
  database.close();
}

async function raw(port: number, head: string): Promise<Answer> {
  const { responses } = await send(port, head);
  const [answer] = responses;
  assert.ok(answer !== undefined, `no answer to ${head}`);
  return { ...answer, headers: new Headers(answer.headers) };
}

const request = (path: string, init: Parameters<TestApp["request"]>[1] = {}) =>
  answerOf(app.request(path, init));

/** Errors of the parser. */
const parser = (head: string) => () => raw(app.port, head);

/** A request for each kind; undefined where another test file has it. */
const provocations: Record<ProblemKind, (() => Promise<Answer>) | undefined> = {
  "malformed-request": () => request("/people/%ff"),
  unauthenticated: () => request("/people", { token: null }),
  "credential-in-url": () => request("/people?api_key=1"),
  "insufficient-scope": async () => request("/people", { token: await app.token("places:read") }),
  forbidden: async () => {
    const create = [{ name: "mine", to: "token", check: { by: "$me" } }];
    const definition = JSON.stringify({ access: { create } });
    await request("/-/collections/ruled", { method: "PUT", headers: json, body: definition });
    const token = await app.token("ruled:*");
    return request("/ruled", { token, method: "POST", headers: json, body: '{"by":"nobody"}' });
  },
  "invalid-signature": () => request("/people/1/photo?signature=x", { token: null }),
  "unprocessable-picture": async () => {
    const sizes = '{"pictures":{"sizes":[{"width":9}]}}';
    await request("/-/collections/photos", { method: "PUT", headers: json, body: sizes });
    const headers = { "content-type": "image/png" };
    const made = await app.request("/photos", { method: "POST", headers, body: "none" });
    const { file } = (await made.json()) as { file: { url: string } };
    return request(`${file.url}?width=9`);
  },
  "tls-required": () =>
    answerOf(broken.request("/people", { headers: { "x-forwarded-proto": "http" } })),
  "not-found": () => request("/people/no-such-id"),
  "method-not-allowed": () => request("/people", { method: "DELETE" }),
  "not-implemented": parser("FOO / HTTP/1.1\r\nHost: x\r\n\r\n"),
  "not-acceptable": () => request("/people", { headers: { accept: "image/png" } }),
  "expectation-failed": parser("GET / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n"),
  "unsupported-media-type": () =>
    request("/people", { method: "POST", headers: { "content-type": "text/json" }, body: "a" }),
  "range-not-satisfiable": async () => {
    const headers = { "content-type": "text/plain" };
    const made = await app.request("/people", { method: "POST", headers, body: "a" });
    const { file } = (await made.json()) as { file: { url: string } };
    return request(file.url, { headers: { range: "bytes=1-" } });
  },
  "content-too-large": () =>
    request("/people", { method: "POST", headers: json, body: `"${"a".repeat(2 ** 20)}"` }),
  "uri-too-long": () => request(`/people/${"a".repeat(8192)}`),
  "header-too-large": parser(`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(17_000)}\r\n\r\n`),
  "invalid-parameter": () => request("/people?limit=0"),
  "invalid-body": () => request("/people", { method: "POST", headers: json, body: "{" }),
  gone: async () => {
    await request("/people", { method: "POST", headers: json, body: "{}" });
    return request("/people?since=1.1-1-1");
  },
  // Tests of the store damage a database.
  damaged: undefined,
  "version-not-supported": parser("GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
  "internal-error": () => answerOf(broken.request("/people")),
  unavailable: closedStore,
  // Tests of the runtime wait for it.
  timeout: undefined,
  // Tests of the store fill a disk.
  "storage-full": undefined,
  // test/http/long-queries.test.ts
  "query-timeout": undefined,
  "action-timeout": () =>
    request("/-/actions/slow", { method: "POST", headers: json, body: '{"how":"stops"}' }),
  conflict: () => request("/people/ada", { method: "PUT", headers: json, body: '{"id":"bob"}' }),
  "precondition-failed": () =>
    request("/people/ada", { method: "PUT", headers: { ...json, "if-match": "*" }, body: "{}" }),
  "precondition-required": () =>
    request("/strict/ada", { method: "PUT", headers: json, body: "{}" }),
  "key-required": () => request("/strict", { method: "POST", headers: json, body: "{}" }),
  "too-many-requests": async () => {
    const init = { method: "POST", headers: json, body: "{}", token: null };
    await request("/busy", init);
    return request("/busy", init);
  },
  "too-early": () =>
    request("/people", { method: "POST", headers: { ...json, "early-data": "1" }, body: "{}" }),
  misdirected: () => raw(broken.port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
  // In resumable-uploads.test.ts.
  "mismatching-upload-offset": undefined,
  "inconsistent-upload-length": undefined,
  "completed-upload": undefined,
  "key-reused": async () => {
    const headers = { ...json, "idempotency-key": '"one"' };
    await request("/people", { method: "POST", headers, body: "{}" });
    return request("/people", { method: "POST", headers, body: '{"another":1}' });
  },
};

async function closedStore(init: RequestInit = {}): Promise<Answer> {
  const folder = await mkdtemp(join(tmpdir(), "restante-closed-"));
  const embedded = await restante({ data: folder });
  const authorization = `Bearer ${embedded.firstAdminToken}`;
  await embedded.close();
  await rm(folder, { recursive: true });
  return answerOf(
    embedded.fetch(
      new Request("http://localhost/people", { ...init, headers: { ...json, authorization } }),
    ),
  );
}

describe("a problem", () => {
  for (const [kind, provoke] of Object.entries(provocations) as [
    ProblemKind,
    () => Promise<Answer>,
  ][]) {
    if (provoke === undefined) continue;
    it(`of the kind ${kind} has the format of RFC 9457`, async () => {
      const answer = await provoke();
      const isBased = ["tls-required", "internal-error", "misdirected"].includes(kind);
      const base = isBased ? "https://api.example.org/v1" : "";
      const problem = assertProblem(answer, kind, base);
      assert.match(problem.requestId, /^[0-9a-f]{16}$/);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      const members = ["type", "title", "status", "detail", "instance", "requestId", "errors"];
      for (const member of Object.keys(problem)) assert.ok(members.includes(member), member);
    });
  }

  it("has only the path of the request in instance", async () => {
    const { instance } = assertProblem(await request("/people?limit=0"), "invalid-parameter");
    assert.equal(instance, "/people");
    const elsewhere = await answerOf(broken.request("/people/no/such/place"));
    const problem = assertProblem(elsewhere, "not-found", "https://api.example.org/v1");
    assert.equal(problem.instance, "https://api.example.org/v1/people/no/such/place");
  });

  it("lists each error of a query by parameter, all at once", async () => {
    const answer = await request("/people?limit=0&page=-1&sort=");
    const { errors = [] } = assertProblem(answer, "invalid-parameter");
    assert.deepEqual(
      errors.map(({ parameter }) => parameter),
      ["page", "limit", "sort"],
    );
    const misspelled = await request("/people?limt[]=5&page=1&page=2");
    assert.deepEqual(
      assertProblem(misspelled, "invalid-parameter").errors?.map(({ parameter }) => parameter),
      ["page", "limt[]"],
    );
  });

  it("has a type that is the URL of a page about it", async () => {
    const types = new Set<string>();
    for (const { status, headers, body } of await requestEverything(app)) {
      if (status >= 400 && headers.get("content-type") && body) types.add(JSON.parse(body).type);
    }
    assert.ok(types.size >= 16);
    // The types of the draft of resumable uploads are those of its registry.
    const registered = [...types].filter((type) => type.startsWith("https://iana.org/"));
    assert.ok(registered.length > 0);
    for (const type of types) {
      if (registered.includes(type)) continue;
      const page = await answerOf(app.request(type, { token: null }));
      assert.equal(page.status, 200, type);
      assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
    }
  });

  it("of every kind has a page with its title and status, and the index lists them all", async () => {
    const index = await (await app.request("/-/problems", { token: null })).text();
    for (const kind of Object.keys(problemKinds) as ProblemKind[]) {
      const { status, body } = await request(`/-/problems/${kind}`, { token: null });
      assert.equal(status, 200, kind);
      assert.ok(body.includes(`<h1>${problemKinds[kind].title}</h1>`), kind);
      assert.ok(body.includes(`Status ${problemStatus[kind]}`), kind);
      assert.ok(index.includes(`href="/-/problems/${kind}"`), kind);
    }
  });

  it("is also what the parser returns", async () => {
    const heads = [
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
      "nonsense\r\n\r\n",
    ];
    for (const head of heads) {
      const answer = await raw(app.port, head);
      assert.equal(answer.status, 400, head);
      assertProblem(answer, "malformed-request");
    }
  });
});

describe("an unexpected error", () => {
  it("is a 500 without stack, SQL or path, and its cause is in the log", async () => {
    const answer = await answerOf(broken.request("/people"));
    const { requestId } = assertProblem(answer, "internal-error", "https://api.example.org/v1");
    const reported = JSON.stringify([answer.body, ...answer.headers]);
    for (const secret of [
      data,
      "resources",
      "no such table",
      "SQL",
      "Error",
      "src/",
      ".ts",
      "at ",
    ]) {
      assert.ok(!reported.includes(secret), `${secret} in ${reported}`);
    }
    await log.settled();
    const lines = log.lines().filter((line) => line.requestId === requestId);
    const failure = lines.find(({ msg }) => msg === "failed") as { err?: { message?: string } };
    assert.match(failure?.err?.message ?? "", /no such table/);
    assert.ok(lines.some(({ status }) => status === 500));
  });

  it("in a write is a 500 too, acknowledges nothing, and the server keeps running", async () => {
    const post = await answerOf(
      broken.request("/people", { method: "POST", headers: json, body: "{}" }),
    );
    assertProblem(post, "internal-error", "https://api.example.org/v1");
    assert.equal(post.headers.get("location"), null);
    assert.equal((await broken.request("/-/health")).status, 200);
    mendStore(data);
    assert.equal((await broken.post("places", { name: "Turin" })).name, "Turin");
  });
});

describe("an outage", () => {
  it("has a Retry-After", async () => {
    const { headers } = await closedStore();
    assert.match(headers.get("retry-after") ?? "", /^\d+$/);
  });

  it("says for a write that nothing was stored, and not for a read", async () => {
    const detailOf = (answer: Answer) => assertProblem(answer, "unavailable").detail;
    const read = detailOf(await closedStore());
    assert.equal(read, "The store cannot be read now. Try again later.");
    const written = detailOf(await closedStore({ method: "POST", body: "{}" }));
    assert.match(written, /^The store cannot accept writes now. Nothing was stored/);
  });

  it("is explained in the log and not on the readiness page", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-closed-"));
    const embedded = await restante({ data: folder });
    await embedded.close();
    const answer = await answerOf(embedded.fetch(new Request("http://localhost/-/ready")));
    const { detail } = assertProblem(answer, "unavailable");
    assert.ok(!detail.includes("closed"));
    const health = await embedded.fetch(new Request("http://localhost/-/health"));
    assert.equal(health.status, 200);
    await rm(folder, { recursive: true });
  });
});
