// `restante demo` as a real process: beside a server, killed in the middle, twice, and where something is already.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { customersOf, ordersOf } from "../../src/cli/demo.ts";
import { demoFile } from "../../src/lib/program.ts";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { commandLine, ownCommandLine, run, type ServerProcess, start } from "../process.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";

const secret = newSecret();
const headers = { authorization: `Bearer ${secret}` };
const environment = { RESTANTE_ADMIN_TOKEN: secret };
const [program, ...flags] = commandLine;
const orders = runs(500, 1_500);
const totals = { products: 24, customers: orders / 20, orders };

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`restante demo beside a server, on ${store}`, () => {
    let cwd: string;
    let postgres: PostgresServer | undefined;
    let target: readonly string[];
    let server: ServerProcess;
    before(async () => {
      cwd = await mkdtemp(join(tmpdir(), "restante-demo-"));
      if (store === "postgres") postgres = await PostgresServer.shared();
      const url = await postgres?.preparedDatabase();
      target = url === undefined ? ["--data", "data"] : ["--data", "data", "--store", url];
      // A single executable renders no pictures.
      server = await start(target, { cwd, environment, command: ownCommandLine });
    });
    after(async () => {
      server.signal("SIGTERM");
      await server.ended;
      await postgres?.close();
      await rm(cwd, { recursive: true });
    });

    const demo = (...args: string[]) => run(["demo", ...target, ...args], { cwd, environment });

    async function get<Body>(path: string): Promise<Body> {
      const response = await fetch(`${server.url}${path}`, { headers });
      return (await response.json()) as Body;
    }

    const totalOf = async (name: string): Promise<number> =>
      (await get<{ total?: number }>(`/-/collections/${name}`)).total ?? 0;

    it("goes on after it was killed, and fills the whole shop once", async () => {
      const args = ["demo", ...target, "--orders", String(orders)];
      const child = spawn(program, [...flags, ...args], {
        cwd,
        env: { PATH: process.env.PATH, ...environment },
      });
      const ended = once(child, "close");
      const end = new AbortController();
      void ended.then(() => end.abort());
      while ((await totalOf("products")) === 0 && !end.signal.aborted) await sleep(5);
      child.kill("SIGKILL");
      await ended;
      // A fast machine may have finished before.
      if ((await totalOf("orders")) < orders) {
        const { code, stdout, stderr } = await demo("--orders", String(orders), "--json");
        assert.deepEqual([code, stderr], [0, ""]);
        assert.deepEqual(JSON.parse(stdout).collections, totals);
      }
      for (const [name, total] of Object.entries(totals)) assert.equal(await totalOf(name), total);
    });

    it("has photos, and orders of its customers and products", async () => {
      type Found = { data: { total: number; lines: []; _expanded: Record<string, unknown> }[] };
      const query = "sort=-number&limit=1&expand=customer,lines[].product";
      const { data } = await get<Found>(`/orders?${query}`);
      assert.ok((data[0]?.total ?? 0) > 0);
      assert.match(JSON.stringify(data[0]?._expanded.customer), /@example\.org/);
      const photo = await fetch(`${server.url}/products/oak-mug/photo`, { headers });
      assert.equal(photo.headers.get("content-type"), "image/png");
      const bytes = Buffer.from(await photo.arrayBuffer());
      assert.equal(bytes.readUInt32BE(16), 480);
      const sized = await fetch(`${server.url}/products/oak-mug/photo?width=96&height=96`, {
        headers,
      });
      assert.equal(sized.status, 200);
      await sized.arrayBuffer();
    });

    it("leaves alone a shop that is complete, and collections of others", async () => {
      const again = await demo("--orders", String(orders));
      assert.deepEqual([again.code, again.stdout], [1, ""]);
      assert.match(again.stderr, /The demo shop is there already/);
      assert.equal(await totalOf("orders"), orders);
      await fetch(`${server.url}/-/collections/products`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body: "{}",
      });
      const other = await demo("--orders", String(orders + 1));
      assert.equal(other.code, 1);
      assert.match(other.stderr, /The collection products exists already/);
      assert.equal(await totalOf("orders"), orders);
    });
  });

describe("restante demo on a terminal", () => {
  const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

  it("shows a bar for each collection", { skip: !hasScript }, async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-demo-"));
    const server = await start(["--data", "data"], { cwd, environment });
    const command = [...commandLine, "demo", "--data", "data", "--orders", "300"];
    const line = command.map((word) => `'${word}'`).join(" ");
    const env = { PATH: process.env.PATH, ...environment };
    const child = spawn("script", ["-qec", line, "/dev/null"], { cwd, env });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (part) => (shown += part));
    await once(child, "close");
    server.signal("SIGTERM");
    await server.ended;
    const text = shown.replaceAll("\x1b[K", "<clear>");
    assert.match(text, /\rorders: \[[#-]+\] \d+ %, \d+ of 300 resources/);
    assert.match(text, /\rproducts: 24 resources in [\d.]+ s.*<clear>\r\n/);
    assert.match(text, /The shop has 24 products, 15 customers, 300 orders\./);
    await rm(cwd, { recursive: true });
  });
});

describe("restante demo --serve", () => {
  /** Resolves with the link when it is printed. */
  async function serveDemo(cwd: string, port: number) {
    const args = ["demo", "--serve", "--data", "shop", "--orders", "300", "--port", String(port)];
    const env = { PATH: process.env.PATH };
    const child = spawn(program, [...flags, ...args, "--log-level", "silent"], { cwd, env });
    const ended = once(child, "close");
    let stdout = "";
    for await (const part of child.stdout.setEncoding("utf8")) {
      stdout += part;
      if (/#code=\w+\n/.test(stdout)) break;
    }
    child.stderr.resume();
    const [link = "", url = "", code = ""] = /(http:\S+)\/-\/console#code=(\w+)/.exec(stdout) ?? [];
    return { child, ended, link, url, code };
  }

  const signIn = async ({ url, code }: { readonly url: string; readonly code: string }) => {
    const body = JSON.stringify({ code });
    const sent = { method: "POST", headers: { "content-type": "application/json" }, body };
    const response = await fetch(`${url}/-/console/tokens`, sent);
    assert.equal(response.status, 201);
    return ((await response.json()) as { token: string }).token;
  };

  it("makes the folder, takes a free port, fills the shop once, and links to a running server", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-demo-"));
    const taken = createServer().listen(0);
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const first = await serveDemo(cwd, port);
    assert.ok(Number(new URL(first.url).port) > port, first.url);
    const authorization = `Bearer ${await signIn(first)}`;
    const orders = `${first.url}/-/collections/orders`;
    const revisionNow = async () => {
      const response = await fetch(orders, { headers: { authorization } });
      const { total } = (await response.json()) as { total: number };
      return [total, response.headers.get("etag")];
    };
    const before = await revisionNow();
    assert.equal(before[0], 300);
    // Another one beside it ends.
    const second = await serveDemo(cwd, port);
    assert.deepEqual(await second.ended, [0, null]);
    assert.equal(second.url, first.url);
    await signIn(second);
    assert.deepEqual(await revisionNow(), before);
    first.child.kill("SIGINT");
    assert.deepEqual(await first.ended, [0, null]);
    // A later one opens the same shop.
    const third = await serveDemo(cwd, port);
    await signIn(third);
    third.child.kill("SIGTERM");
    await third.ended;
    taken.close();
    await rm(cwd, { recursive: true });
  });

  it("leaves alone a folder with collections of others, and no database", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-demo-"));
    const server = await start(["--data", "shop"], { cwd, environment });
    await fetch(`${server.url}/-/collections/products`, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/json" },
      body: "{}",
    });
    server.signal("SIGTERM");
    await server.ended;
    const args = ["demo", "--serve", "--data", "shop", "--port", "0"];
    const refused = await run(args, { cwd, environment });
    assert.deepEqual([refused.code, refused.stderr.includes("products exists already")], [1, true]);
    const database = await run([...args, "--store", "postgres://localhost/x"], { cwd });
    assert.deepEqual([database.code, database.stdout], [2, ""]);
    await rm(cwd, { recursive: true });
  });
});

describe("restante demo", () => {
  it("creates the folder", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-demo-"));
    const { code, stdout } = await run(["demo", "--data", "new/shop", "--orders", "1"], { cwd });
    assert.deepEqual([code, stdout.includes("24 products, 10 customers, 1 order")], [0, true]);
    await rm(cwd, { recursive: true });
  });

  it("rejects a number of orders that it cannot make", async () => {
    for (const count of ["0", "x"]) {
      const { code, stderr } = await run(["demo", "--orders", count], { cwd: tmpdir() });
      assert.equal(code, 2);
      assert.match(stderr, /--orders: must be a number from 1 to/);
    }
  });

  it("has a picture of each product, and the same customers and orders in each run", () => {
    const shop = JSON.parse(demoFile("shop.json").toString());
    for (const id of Object.keys(shop.products))
      assert.equal(demoFile(`${id}.png`).readUInt32BE(16), 480, id);
    const all = () => {
      const [customer, order] = [customersOf(shop), ordersOf(shop, { customers: 10, orders: 9 })];
      return Array.from({ length: 9 }, (_, at) => [
        customer(at + 1),
        { ...order(at + 1), placedAt: undefined },
      ]);
    };
    assert.deepEqual(all(), all());
  });
});
