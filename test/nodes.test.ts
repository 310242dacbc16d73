// Many nodes on one database: they behave like one, and survive failures of each other and of the database.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AcknowledgedWrites,
  countConcurrently,
  createToken,
  json,
  replaceAndRead,
  requestSender,
  type SendRequest,
} from "./acknowledged-writes.ts";
import { assertProblem } from "./http/expect.ts";
import { PostgresServer, type StopSignal } from "./postgres-server.ts";
import { firstToken, run, type ServerProcess, start } from "./process.ts";
import { runs, within } from "./seeds.ts";

/** Processes start and end in these tests, on machines that may be busy. */
const patience = within(300_000);

let cwd: string;
let server: PostgresServer;
let url: string;
let nodes: [ServerProcess, ServerProcess];
let asks: [SendRequest, SendRequest];
let secret: string;

const launch = (...args: string[]): Promise<ServerProcess> =>
  start(args, { cwd, environment: { RESTANTE_STORE: url } });

before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-nodes-"));
  server = await PostgresServer.start();
  url = await server.database();
  nodes = await Promise.all([launch(), launch()]);
  [secret = ""] = secretsOf(nodes);
  asks = [requestSender(nodes[0].url, secret), requestSender(nodes[1].url, secret)];
});
after(async () => {
  for (const { signal } of nodes) signal("SIGKILL");
  await Promise.all(nodes.map(({ ended }) => ended));
  await server.close();
  await rm(cwd, { recursive: true, force: true });
});

/** One of the nodes names the file on standard error. */
const secretsOf = (all: readonly ServerProcess[]): readonly string[] =>
  all.filter(({ stderr }) => stderr() !== "").map(firstToken);

describe("two nodes", () => {
  it("that start at once on an empty database create one schema and one first token", async () => {
    assert.equal(secretsOf(nodes).length, 1);
    for (const ask of asks) {
      const { status, body } = await ask("/-/tokens");
      assert.deepEqual([status, JSON.parse(body).data?.length], [200, 1]);
    }
  });

  it("keep their roles and definitions when the start of another one is refused", async () => {
    const grantTo = (role: string) => ({
      access: { read: [{ name: "a", to: { role }, where: { owner: "$me" } }] },
    });
    const [ask] = asks;
    const roles = { roles: { editor: ["people:read"] } };
    assert.equal((await ask("/-/access", json("PUT", roles))).status, 200);
    assert.equal((await ask("/-/collections/ruled", json("PUT", grantTo("editor")))).status, 201);
    const paths = ["/-/access", "/-/collections/ruled/definition"];
    const read = () => Promise.all(paths.map((path) => ask(path)));
    const before = await read();
    await mkdir(join(cwd, "rules"));
    const save = (name: string, content: object) =>
      writeFile(join(cwd, "rules", name), JSON.stringify(content));
    await save("access.json", { roles: { author: [] } });
    await save("ruled.json", grantTo("author"));
    await save("zoo.json", grantTo("keeper"));
    const args = ["serve", "--port", "0", "--collections", "rules"];
    const refused = await run(args, { cwd, environment: { RESTANTE_STORE: url } });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /zoo\.json .*keeper/);
    for (const [at, { body, headers }] of before.entries()) {
      const path = paths[at] ?? "";
      assert.equal((await ask(path)).body, body);
      // What a node has read may be a second old; a condition holds at the commit.
      const init = json("PUT", JSON.parse(body), { "if-match": headers.get("etag") ?? "" });
      assert.equal((await ask(path, init)).status, 200, path);
    }
    assert.equal((await ask("/-/collections/zoo")).status, 404);
  });

  it("return exact revisions, pages, totals and ETags", patience, async () => {
    const journal = new AcknowledgedWrites("people", asks);
    const written = journal.postMany(8, runs(60, 160));
    await Promise.all([written, journal.readPagesUntil(written), journal.readPagesUntil(written)]);
    await journal.verify();
    assert.equal(journal.processes.size, 2);
    assert.deepEqual(journal.counts, { closed: 0, wait: 0, replayed: 0 });
  });

  it("return nothing that the other has replaced", patience, () => replaceAndRead(asks, 25));

  it("lose no increment of concurrent clients", patience, () => countConcurrently(asks, 6));

  it("reject a token within a second after the other has revoked it", patience, async () => {
    const token = await createToken(asks[0]);
    const reads = nodes.map((node) => requestSender(node.url, token.secret));
    for (const read of reads) assert.equal((await read("/-/collections")).status, 403);
    assert.equal((await token.revoke()).status, 204);
    assert.equal((await reads[0]?.("/-/collections"))?.status, 401);
    await sleep(1_000);
    assert.equal((await reads[1]?.("/-/collections"))?.status, 401);
  });

  it("give and take the scopes of a role that was changed on the other", patience, async () => {
    const request = { name: "editor", scopes: [], roles: ["editor"] };
    const { token } = JSON.parse((await asks[0]("/-/tokens", json("POST", request))).body);
    const reads = nodes.map((node) => requestSender(node.url, token));
    const untilAll = async (status: number) => {
      for (const read of reads)
        while ((await read("/-/collections")).status !== status) await sleep(20);
    };
    for (const [index, roles] of [{}, { editor: ["admin"] }, {}, { editor: ["admin"] }].entries()) {
      const ask = asks[index % 2 === 0 ? 0 : 1];
      const { status, headers } = await ask("/-/access", json("PUT", { roles, sets: {} }));
      assert.equal(status, 200);
      // The document itself is current on every node at once.
      for (const each of asks)
        assert.equal((await each("/-/access")).headers.get("etag"), headers.get("etag"));
      await untilAll("editor" in roles ? 200 : 403);
    }
  });

  it("replace the access document once, for clients with the same If-Match", patience, async () => {
    for (let round = 0; round < 4; round++) {
      const first = await asks[0](
        "/-/access",
        json("PUT", { roles: { [`r${round}`]: [] }, sets: {} }),
      );
      const tag = { "if-match": first.headers.get("etag") ?? "" };
      const puts = Array.from({ length: 4 }, (_, index) =>
        asks[index % 2 === 0 ? 0 : 1](
          "/-/access",
          json("PUT", { roles: { [`c${index}`]: [] } }, tag),
        ),
      );
      const statuses = (await Promise.all(puts)).map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, 412, 412, 412]);
    }
  });

  it("execute a request with a key once, on whichever node", patience, async () => {
    const key = { "idempotency-key": "once" };
    const posts = Array.from({ length: 12 }, (_, index) =>
      asks[index % 2 === 0 ? 0 : 1]("/people", json("POST", { name: "Ada" }, key)),
    );
    const answers = await Promise.all(posts);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
    const first = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
    assert.equal(first.length, 1);
  });
});

describe("a database that accepts no writes", () => {
  const setReadOnly = (word: "on" | "off") =>
    server.admin(async (sql) => {
      await sql.unsafe(`ALTER SYSTEM SET default_transaction_read_only = ${word}`);
      await sql`SELECT pg_reload_conf()`;
    });
  /** The server hears of it a moment later. */
  const untilStatus = async (status: number) => {
    for (const ask of asks) while ((await ask("/-/ready")).status !== status) await sleep(20);
  };

  it("can be read, is reported, and is written again when possible", patience, async () => {
    await setReadOnly("on");
    await untilStatus(503);
    for (const ask of asks) {
      assert.equal((await ask("/people?limit=1")).status, 200);
      assert.equal((await ask("/-/health")).status, 200);
      const rejected = await ask("/people", json("POST", {}));
      assertProblem(rejected, "unavailable");
      assert.match(rejected.headers.get("retry-after") ?? "", /^\d+$/);
    }
    await setReadOnly("off");
    await untilStatus(200);
    for (const ask of asks) assert.equal((await ask("/people", json("POST", {}))).status, 201);
  });
});

describe("failures under load", () => {
  for (const signal of ["INT", "QUIT"] as const satisfies StopSignal[])
    it(
      `the database, by SIG${signal}: everything recovers and nothing acknowledged is lost`,
      patience,
      async () => {
        const journal = new AcknowledgedWrites(`restarted-${signal.toLowerCase()}`, asks);
        await journal.postWhile(8, runs(16, 80), async () => {
          await server.stop(signal);
          await journal.untilToldToWait();
          await server.start();
        });
        await journal.verify();
        assert.ok(journal.counts.wait > 0, "some were asked to wait");
        assert.equal(journal.counts.closed, 0, "nobody was left without an answer");
      },
    );

  it(
    "a node, by SIGKILL: the other continues and nothing acknowledged is lost",
    patience,
    async () => {
      const journal = new AcknowledgedWrites("killed", asks);
      await journal.postWhile(8, runs(16, 80), async () => {
        nodes[0].signal("SIGKILL");
        await nodes[0].ended;
        nodes[0] = await launch("--port", String(nodes[0].port));
      });
      await journal.verify();
      assert.ok(journal.counts.closed > 0, "some were cut off");
    },
  );
});
