// Metrics: who may read them, what they count, and that no request can add labels.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { routes } from "../../src/http/routes.ts";
import { defaultConfig } from "../../src/server/config.ts";
import { openApp } from "../../src/server/lifecycle.ts";
import { createLog } from "../../src/server/log.ts";
import { startApp, type TestApp } from "./app.ts";
import { answerOf } from "./expect.ts";
import { last, UploadClient } from "./upload-client.ts";

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

async function readMetrics(): Promise<ReadonlyMap<string, number>> {
  const response = await app.request("/-/metrics");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n").filter((line) => /^[a-z]/.test(line));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(" ");
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

const requests = (method: string, route: string, status: string): string =>
  `restante_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;

describe("GET /-/metrics", () => {
  it("needs the scope metrics", async () => {
    const scoped = await app.token("metrics");
    assert.equal((await app.request("/-/metrics", { token: scoped })).status, 200);
    const other = await app.token("*:*");
    assert.equal((await answerOf(await app.request("/-/metrics", { token: other }))).status, 403);
    assert.equal((await answerOf(await app.request("/-/metrics", { token: null }))).status, 401);
  });

  it("gives the scope metrics nothing else", async () => {
    const token = await app.token("metrics");
    await app.post("people", { name: "Ada" });
    for (const path of ["/people", "/metrics", "/-/tokens", "/-/collections", "/-/queries"])
      assert.equal((await app.request(path, { token })).status, 403, path);
  });

  it("counts requests by route and class of status", async () => {
    const before = await readMetrics();
    const { id } = await app.post("books", { title: "Emma" });
    // The second one is repeated from the first.
    for (let times = 0; times < 3; times++) await app.request(`/books/${id}`);
    await app.request("/books/none");
    await app.request("/books?limit=abc");
    const after = await readMetrics();
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    assert.equal(grown(requests("POST", "/{collection}", "2xx")), 1);
    assert.equal(grown(requests("GET", "/{collection}/{id}", "2xx")), 3);
    assert.equal(grown(requests("GET", "/{collection}/{id}", "4xx")), 1);
    assert.equal(grown(requests("GET", "/{collection}", "4xx")), 1);
    assert.equal(grown("restante_commit_changes_count"), 1);
  });

  it("shows that an import writes smaller groups while other requests are answered", async () => {
    const smallGroups = async () => {
      const metrics = await readMetrics();
      const upTo = (le: number) => metrics.get(`restante_commit_changes_bucket{le="${le}"}`) ?? 0;
      return upTo(50) - upTo(25);
    };
    await app.post("imported", {});
    const before = await smallGroups();
    async function* lines() {
      yield Buffer.from("{}\n");
      while ((await app.total("imported")) < 2);
      yield Buffer.from("{}\n".repeat(1_000));
    }
    const response = await app.request("/imported", {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
      body: Readable.toWeb(Readable.from(lines())),
      duplex: "half",
    } as unknown as RequestInit);
    assert.equal(JSON.parse(await response.text()).created, 1_001);
    assert.ok((await smallGroups()) > before);
  });

  const ofTheFile = [
    ...["restante_wal_bytes", "restante_database_bytes", "restante_checkpoints_total"],
    "restante_database_rescues_total",
    ...["restante_disk_free_bytes", "restante_reader_threads"],
  ];

  it("has values of the store, the queries and the process", async () => {
    const metrics = await readMetrics();
    const expected = [
      ...(process.env.RESTANTE_TEST_STORE === "postgres" ? [] : ofTheFile),
      ...["restante_queries_running", "restante_queries_waiting"],
      ...["restante_commit_waiting_changes", "restante_slow_queries_total"],
      ...["restante_in_flight_bytes", "restante_event_loop_lag_seconds_count"],
      "restante_stored_file_bytes",
      ...["process_resident_memory_bytes", "process_cpu_seconds_total"],
    ];
    for (const name of expected) {
      const value = metrics.get(name);
      assert.ok(value !== undefined && value >= 0, `${name} is ${value}`);
    }
    assert.ok((metrics.get("process_resident_memory_bytes") ?? 0) > 1_000_000);
  });

  it("counts files and their bytes, up and down", async () => {
    const before = await readMetrics();
    const uploaded = await app.request("/scans", {
      method: "POST",
      headers: { "content-type": "application/pdf" },
      body: "twelve bytes",
    });
    const { file } = (await uploaded.json()) as { file: { url: string } };
    await (await app.request(file.url, { headers: { range: "bytes=0-4" } })).text();
    await (await app.request(file.url)).text();
    const after = await readMetrics();
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    assert.equal(grown("restante_files_saved_total"), 1);
    assert.equal(grown("restante_file_bytes_saved_total"), 12);
    assert.equal(grown("restante_files_read_total"), 2);
    assert.equal(grown("restante_file_bytes_read_total"), 17);
  });

  it("counts resumable uploads", async () => {
    const before = await readMetrics();
    const client = new UploadClient(app);
    const path = await client.begin("/scans", { "content-type": "application/pdf" });
    await client.begin("/scans", { "content-type": "application/pdf" });
    assert.equal((await client.patch(path, 0, Buffer.from("all"), last)).status, 201);
    const after = await readMetrics();
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    assert.equal(grown("restante_resumable_uploads_begun_total"), 2);
    assert.equal(grown("restante_resumable_uploads_completed_total"), 1);
    assert.equal(grown("restante_files_saved_total"), 1);
  });

  it("has one label for all paths and methods that it does not know", async () => {
    for (let number = 0; number < 50; number++) {
      await app.request(`/-/unknown-${number}`);
      await app.request(`/wrong/${number}/path/here`);
      await app.direct(new Request(`${app.url}/books`, { method: `ODD${number}` }));
    }
    const known = new Set(Object.values(routes).map(({ path }) => path));
    for (const name of (await readMetrics()).keys()) {
      const route = /route="([^"]*)"/.exec(name)?.[1];
      if (route !== undefined) assert.ok(known.has(route) || route === "none", name);
    }
  });
});

describe("the metrics of a server that has stopped", () => {
  it("can be read, because a worker sends them until it exits", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-"));
    try {
      const config = { ...defaultConfig, data: folder };
      const own = await openApp(config, createLog("silent"));
      await own.close();
      const names = own.metrics.read().map(({ name }) => name);
      assert.ok(names.includes("restante_stored_file_bytes"));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
