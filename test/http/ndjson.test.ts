// NDJSON: many resources in one POST, each line on its own, or all together.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request as send } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem, type ProblemBody } from "./expect.ts";
import { type RawRequest, rawRequest } from "./raw-request.ts";
import { startServerProcess } from "./server-process.ts";

interface Result {
  readonly line?: number;
  readonly status: number;
  readonly location?: string;
  readonly problem?: ProblemBody;
}

const limitBytes = 4_096;
const type = "application/x-ndjson";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
  client = new Client(app);
});
after(() => app.stop());

const post = (path: string, body: RawRequest["body"], { headers = {}, ...sent }: RawRequest = {}) =>
  rawRequest(app, path, {
    method: "POST",
    headers: { "content-type": type, ...headers },
    ...sent,
    ...(body === undefined ? {} : { body }),
  });

const read = (text: string): readonly Result[] =>
  text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => JSON.parse(line));

/** Expects 200, and gives the results. */
async function results(
  path: string,
  body: RawRequest["body"],
  sent?: RawRequest,
): Promise<readonly Result[]> {
  const answer = await post(path, body, sent);
  assert.equal(answer.status, 200, answer.body);
  assert.equal(answer.headers.get("content-type"), type);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.ok(answer.body === "" || answer.body.endsWith("\n"));
  return read(answer.body);
}

const reported = (all: readonly Result[]) => all.map(({ line, status }) => `${line} ${status}`);

const define = async (name: string, definition: object) => {
  const { status, body } = await client.put(`/-/collections/${name}`, definition);
  assert.ok(status < 300, body);
};

describe("lines", () => {
  it("are created one by one, and their results are in order", async () => {
    const all = await results("/plain", '{"n":1}\n{"n":2}\n{"n":3}\n');
    assert.deepEqual(reported(all), ["1 201", "2 201", "3 201"]);
    for (const [index, { location = "" }] of all.entries()) {
      assert.equal((await client.json<{ n: number }>(location)).n, index + 1);
    }
    const { data } = await client.json<{ data: { n: number }[] }>("/plain");
    assert.deepEqual(
      data.map(({ n }) => n),
      [1, 2, 3],
    );
  });

  it("need no newline at the end, may end in CRLF, and are counted when they are empty", async () => {
    const all = await results("/ends", '\n{"n":1}\r\n \t\r\n\n{"n":2}');
    assert.deepEqual(reported(all), ["2 201", "5 201"]);
  });

  it("do not affect each other", async () => {
    const lines = [
      '{"n":1}',
      '{"n":',
      "[]",
      '{"id":"mine"}',
      '{"a":1,"a":2}',
      `{"long":"${"x".repeat(limitBytes)}"}`,
      '{"n":2}',
    ];
    const bytes = Buffer.concat([
      Buffer.from(`${lines.join("\n")}\n{"n":"`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}\n{"n":3}'),
    ]);
    const all = await results("/spoiled", bytes);
    const statuses = all.map(({ status }) => status);
    assert.deepEqual(statuses, [201, 400, 400, 400, 400, 413, 201, 400, 201]);
    for (const { status, problem } of all.filter((each) => each.status !== 201)) {
      assert.equal(problem?.status, status);
      assert.equal(problem?.instance, "/spoiled");
      assert.ok(problem?.requestId);
    }
    assert.deepEqual(
      all[3]?.problem?.errors?.map(({ pointer }) => pointer),
      ["/id"],
    );
    assert.equal(await app.total("spoiled"), 3);
  });

  it("may arrive in any chunks", async () => {
    const text = '{"name":"Zoë"}\n{"name":"👩‍🚀"}\n\n{"name":"x"}';
    const bytes = Buffer.from(text);
    for (const size of [1, 3, 7]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const all = await results("/pieces", pieces);
      assert.deepEqual(reported(all), ["1 201", "2 201", "4 201"]);
      const { name } = await client.json<{ name: string }>(all[1]?.location ?? "");
      assert.equal(name, "👩‍🚀");
    }
  });

  it("have three media types, and only UTF-8", async () => {
    for (const name of [
      "application/ndjson",
      "application/jsonl",
      "Application/X-NDJSON; charset=utf-8",
    ]) {
      const all = await results("/names", "{}", { headers: { "content-type": name } });
      assert.deepEqual(reported(all), ["1 201"]);
    }
    const latin = await post("/names", "{}", {
      headers: { "content-type": `${type}; charset=latin1` },
    });
    assertProblem(latin, "unsupported-media-type");
    const wide = await post("/names", "{}", { headers: { accept: "application/jsonl" } });
    assert.equal(wide.headers.get("content-type"), "application/jsonl");
    assertProblem(
      await post("/names", "{}", { headers: { accept: "application/json" } }),
      "not-acceptable",
    );
  });

  it("may be many, and stay in order", async () => {
    const count = 6_000;
    const lines = Array.from({ length: count }, (_, index) => `{"n":${index}}\n`);
    const pieces = Array.from({ length: 12 }, (_, index) =>
      lines.slice(index * 500, (index + 1) * 500).join(""),
    );
    const all = await results("/crowd", pieces);
    assert.equal(all.length, count);
    assert.ok(all.every(({ line, status }, index) => line === index + 1 && status === 201));
    assert.equal(new Set(all.map(({ location }) => location)).size, count);
    assert.equal(await app.total("crowd"), count);
    const { data } = await client.json<{ data: { n: number }[] }>("/crowd?limit=1000&page=6");
    assert.deepEqual(
      data.map(({ n }) => n),
      Array.from({ length: 1000 }, (_, index) => 5_000 + index),
    );
  });

  it("get results while more lines are being sent", async () => {
    const request = send(`${app.url}/talk`, {
      method: "POST",
      agent: false,
      headers: { authorization: `Bearer ${app.admin}`, "content-type": type },
    });
    const answered = once(request, "response");
    request.write('{"n":1}\n');
    const [response] = await answered;
    const heard = createInterface({ input: response })[Symbol.asyncIterator]();
    for (const line of [1, 2, 3]) {
      if (line > 1) request.write(`{"n":${line}}\n`);
      const { value } = await heard.next();
      assert.deepEqual(reported([JSON.parse(value ?? "")]), [`${line} 201`]);
    }
    request.end();
    assert.equal((await heard.next()).done, true);
  });

  it("are rejected when there are none, and have no results when all are empty", async () => {
    assertProblem(await post("/nothing", ""), "invalid-body");
    assert.deepEqual(await results("/nothing", "\n\n \n"), []);
    assert.equal((await client.get("/nothing")).status, 404);
  });

  it("have short results with Prefer: return=minimal", async () => {
    const body = '{"n":1}\n{\n{"n":2}\n';
    const { headers, body: text } = await post("/short", body, {
      headers: { prefer: "return=minimal" },
    });
    assert.equal(headers.get("preference-applied"), "return=minimal");
    const [rejected, sum, ...rest] = read(text);
    assert.deepEqual([rejected?.line, rejected?.status], [2, 400]);
    assert.deepEqual([sum, rest], [{ lines: 3, created: 2 }, []]);
  });

  it("that end early are counted also in short results, because some were stored", async () => {
    const whole = gzipSync('{"n":1}\n'.repeat(15_000), { level: 0 });
    const { status, body } = await post("/short-broken", whole.subarray(0, whole.length - 8), {
      headers: { prefer: "return=minimal", "content-encoding": "gzip" },
    });
    const total = await app.total("short-broken");
    assert(total > 0, "the first lines are stored before the end is missed");
    const [problem, sum] = read(body);
    assert.deepEqual([status, problem?.status, problem?.line], [200, 400, undefined]);
    assert.equal((sum as { created?: number })?.created, total);
  });

  it("may be encoded, and an error in the coding is reported at the end", async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `{"n":${n},"x":"${Math.sin(n)}"}\n`);
    const encoded = gzipSync(lines.join(""));
    const headers = { "content-encoding": "gzip" };
    const all = await results("/coded", encoded, { headers });
    assert.equal(all.filter(({ status }) => status === 201).length, 3_000);

    const broken = await results("/broken", encoded.subarray(0, encoded.length - 8), { headers });
    const last = broken.at(-1);
    assert.deepEqual([last?.line, last?.status], [undefined, 400]);
    const done = broken.filter(({ status }) => status === 201).length;
    assert.equal(done, broken.length - 1);
    assert.equal(await app.total("broken"), done);

    const unread = await post("/unread", "{}\n", { headers });
    assertProblem(unread, "invalid-body");
    assert.equal((await client.get("/unread")).status, 404);
  });

  it("that are almost empty are not read to the end", async () => {
    const bomb = gzipSync(Buffer.alloc(runs(5_000_000, 15_000_000), "\n"));
    const answer = await post("/bomb", bomb, { headers: { "content-encoding": "gzip" } });
    assertProblem(answer, "content-too-large");
  });

  it("of a client that disconnects are stored as far as they arrived", async () => {
    for (let round = 0; round < 3; round++) {
      const request = send(`${app.url}/left`, {
        method: "POST",
        agent: false,
        headers: { authorization: `Bearer ${app.admin}`, "content-type": type },
      });
      request.on("error", () => {});
      const answered = once(request, "response");
      request.write('{"n":1}\n{"n":2}\n{"n":');
      const [response] = await answered;
      response.on("error", () => {});
      request.destroy();
      await once(request, "close");
    }
    assert.equal(await app.total("left"), 6);
    assert.deepEqual(reported(await results("/left", "{}")), ["1 201"]);
  });

  it("are not stored when no response format is acceptable", async () => {
    const answer = await post("/unheard", "{}", { headers: { "accept-encoding": "*;q=0" } });
    assertProblem(answer, "not-acceptable");
    assert.equal((await client.get("/unheard")).status, 404);
  });

  it("accept no other parameters", async () => {
    assertProblem(await post("/plain?atom=true", "{}"), "invalid-parameter");
    assertProblem(await post("/plain?atomic=yes", "{}"), "invalid-parameter");
  });

  it("accept atomic for one resource in JSON too, where it changes nothing", async () => {
    for (const atomic of [true, false]) {
      const one = await client.post(`/plain?atomic=${atomic}`, {});
      assert.equal(one.status, 201, one.body);
      assert.equal(one.headers.get("content-location"), one.headers.get("location"));
    }
    const shown = await client.post("/plain?%61tomic=true&fields=name&atomic=", { name: "Ada" });
    assertProblem(shown, "invalid-parameter");
    const path = "/plain?%61tomic=true&fields=name,%5Fetag";
    const named = await client.post(path, { name: "Ada" });
    const address = named.headers.get("content-location") ?? "";
    assert.equal(address, `${named.headers.get("location")}?fields=name,%5Fetag`);
    assert.equal((await client.get(address)).body, named.body);
    assertProblem(await client.post("/plain?atomic=yes", {}), "invalid-parameter");
    assertProblem(await client.post("/plain?atomic=true&atomic=true", {}), "invalid-parameter");
  });
});

describe("the rules of a collection", () => {
  it("apply to each line", async () => {
    await define("strict", {
      schema: {
        type: "object",
        properties: { email: { type: "string" }, role: { type: "string", default: "guest" } },
        required: ["email"],
      },
      unique: ["email"],
      maxBytes: 100,
    });
    const all = await results(
      "/strict",
      [
        '{"email":"a@x"}',
        "{}",
        '{"email":7}',
        '{"email":"b@x"}',
        '{"email":"a@x"}',
        `{"email":"${"c".repeat(100)}"}`,
      ].join("\n"),
    );
    assert.deepEqual(reported(all), ["1 201", "2 400", "3 400", "4 201", "5 409", "6 413"]);
    assert.deepEqual(
      all[2]?.problem?.errors?.map(({ pointer }) => pointer),
      ["/email"],
    );
    assert.deepEqual(
      all[4]?.problem?.errors?.map(({ pointer }) => pointer),
      ["/email"],
    );
    const made = await client.json<{ role: string }>(all[0]?.location ?? "");
    assert.equal(made.role, "guest");
    assert.equal(await app.total("strict"), 2);
  });

  it("decide who may create, and the owner", async () => {
    await define("owned", { access: { read: "owner" } });
    assertProblem(await post("/owned", "{}", { token: null }), "unauthenticated");
    const reader = await app.token("owned:read");
    assertProblem(await post("/owned", "{}", { token: reader }), "insufficient-scope");
    const [ann, bob] = [await app.token("owned:*"), await app.token("owned:*")];
    assert.equal((await results("/owned", "{}\n{}", { token: ann })).length, 2);
    const seen = await new Client(app, ann).json<{ total: number }>("/owned");
    const others = await new Client(app, bob).json<{ total: number }>("/owned");
    assert.deepEqual([seen.total, others.total], [2, 0]);
    const stranger = await app.token("elsewhere:create");
    assertProblem(await post("/elsewhere", "{}", { token: stranger }), "not-found");
  });

  it("may allow public creates, within a rate limit", async () => {
    await define("guests", { access: { create: "public" }, rateLimit: { perMinute: 3 } });
    const all = await results("/guests", "{}\n{}\n{}\n{}\n{}", { token: null });
    assert.deepEqual(
      all.map(({ status }) => status),
      [201, 201, 201, 429, 429],
    );
    assert.equal(await app.total("guests"), 3);
  });

  it("may require a key: then all lines are one request", async () => {
    await define("keyed", { idempotencyKey: "required" });
    assertProblem(await post("/keyed", "{}"), "key-required");
    assertProblem(await post("/keyed?atomic=true", "{}"), "key-required");
    const headers = { "idempotency-key": '"k1"' };
    const problem = assertProblem(await post("/keyed", "{}", { headers }), "invalid-parameter");
    assert.deepEqual(pointersOf(problem), ["atomic"]);
    assert.deepEqual(reported(await results("/keyed?atomic=true", "{}\n{}", { headers })), [
      "1 201",
      "2 201",
    ]);
    assert.equal(await app.total("keyed"), 2);
  });
});

describe("atomic lines", () => {
  it("are all created, or none with each error and its line", async () => {
    await define("team", {
      schema: { type: "object", properties: { email: { type: "string" } }, required: ["email"] },
      unique: ["email"],
    });
    const path = "/team?atomic=true";
    const all = await results(path, '{"email":"a"}\n\n{"email":"b"}\n');
    assert.deepEqual(reported(all), ["1 201", "3 201"]);

    const rejected = async (body: string, kind: "invalid-body" | "conflict") =>
      pointersOf(await client.rejects("team", kind, () => post(path, body)));
    assert.deepEqual(await rejected('{"email":"c"}\n\n{"email":1}\n{}', "invalid-body"), [
      "/3/email",
      "/4/email",
    ]);
    assert.deepEqual(await rejected('{"email":"c"}\n{"email"', "invalid-body"), ["/2"]);
    assert.deepEqual(await rejected('{"email":"c"}\n{"id":"x","email":"d"}', "invalid-body"), [
      "/2/id",
    ]);
    assert.deepEqual(await rejected('{"email":"c"}\n\n{"email":"a"}', "conflict"), ["/3/email"]);
    assert.deepEqual(await rejected('{"email":"c"}\n{"email":"c"}', "conflict"), ["/2/email"]);
  });

  it("of an admin create the collection", async () => {
    assert.deepEqual(reported(await results("/fresh?atomic=true", '{"n":1}\n{"n":2}')), [
      "1 201",
      "2 201",
    ]);
    assert.equal(await app.total("fresh"), 2);
    assertProblem(await post("/stale?atomic=true", '{"n":1}\n{'), "invalid-body");
    assert.equal((await client.get("/stale")).status, 404);
  });

  it("are not created again by a retry", async () => {
    const headers = { "idempotency-key": '"retry"' };
    const body = '{"n":1}\n\n{"n":2}\n';
    const first = await post("/retried?atomic=true", body, { headers });
    const second = await post("/retried?atomic=true", body, { headers });
    assert.equal(first.headers.get("idempotency-replayed"), null);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
    assert.equal(second.body, first.body);
    assert.equal(await app.total("retried"), 2);
    assertProblem(await post("/retried?atomic=true", '{"n":1}\n', { headers }), "key-reused");

    // Also when the current rules would reject it.
    await define("retried", { schema: { type: "object", required: ["other"] } });
    const third = await post("/retried?atomic=true", body, { headers });
    assert.equal(third.body, first.body);
  });

  it("are limited in number", async () => {
    const most = await results("/most?atomic=true", "{}\n".repeat(10_000));
    assert.equal(most.length, 10_000);
    const more = await post("/more?atomic=true", "{}\n".repeat(10_001));
    assertProblem(more, "content-too-large");
    assert.equal((await client.get("/more")).status, 404);
  });
});

const run = promisify(execFile);
const canStarve = await run("prlimit", ["--pid", `${process.pid}`, "--fsize"]).then(
  () => true,
  () => false,
);

describe("an outage", { skip: canStarve ? false : "this machine does not let us make one" }, () => {
  it("in the middle is reported line by line, after the results so far", {
    timeout: 300_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-ndjson-"));
    const daemon = await startServerProcess(folder);
    try {
      // A stream that waits for its results before it goes on.
      let more: () => void = () => {};
      const starved = new Promise<void>((resolve) => {
        more = resolve;
      });
      const encoder = new TextEncoder();
      async function* lines() {
        yield encoder.encode('{"n":1}\n{"n":2}\n');
        await starved;
        // Past what the log has already taken from the disk.
        for (let n = 0; n < 40; n++) yield encoder.encode(`{"x":"${"x".repeat(500_000)}"}\n`);
      }
      const answer = await daemon.request("/people", {
        method: "POST",
        headers: { "content-type": type, "accept-encoding": "identity" },
        body: Readable.toWeb(Readable.from(lines())),
        duplex: "half",
      } as unknown as RequestInit);
      assert.equal(answer.status, 200);
      await run("prlimit", ["--pid", `${daemon.pid}`, "--fsize=0:"]);
      more();
      const all = read(await answer.text());
      await run("prlimit", ["--pid", `${daemon.pid}`, "--fsize=unlimited:"]);
      assert.deepEqual(
        all.map(({ line }) => line),
        Array.from({ length: 42 }, (_, index) => index + 1),
      );
      const created = all.filter(({ status }) => status === 201);
      const rejected = all.slice(created.length);
      assert.ok(created.length >= 2 && rejected.length > 0);
      assert.ok(rejected.every(({ status }) => status === 503 || status === 507));
      const found = await Promise.all(
        created.map(async ({ location = "" }) => (await daemon.request(location)).status),
      );
      assert.ok(found.every((status) => status === 200));
    } finally {
      await daemon.end("SIGKILL");
      await rm(folder, { recursive: true });
    }
  });
});
