// Traces: what is continued, which spans a request has, and a collector that is slow, dead or refuses.

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Metrics } from "../src/lib/metrics.ts";
import { readParent, type TraceSpan, Traces } from "../src/lib/traces.ts";
import { newSecret } from "../src/model/secret.ts";
import { TraceExporter } from "../src/server/trace-exporter.ts";
import { attributesOf, type Collector, startCollector } from "./collector.ts";
import fc from "./fast-check.ts";
import { startApp, type TestApp } from "./http/app.ts";
import { captureLog } from "./http/captured-log.ts";
import { start } from "./process.ts";
import { runs, within } from "./seeds.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const sampled = `00-${traceId}-${spanId}-01`;
const patience = within(300_000);

describe("traceparent", () => {
  it("is continued, with tracestate", () => {
    const parent = { traceId, spanId, isSampled: true, state: "a=1,b=2" };
    assert.deepEqual(readParent(sampled, "a=1,b=2"), parent);
    assert.equal(readParent(`00-${traceId}-${spanId}-00`, null)?.isSampled, false);
    // A later version may have more members.
    assert.equal(readParent(`cc-${traceId}-${spanId}-01-more`, null)?.traceId, traceId);
    assert.equal(readParent(sampled, "x".repeat(513))?.state, undefined);
  });

  for (const malformed of [
    ...["", "00", `ff-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-01-more`, ` ${sampled}`],
    ...[`00-${"0".repeat(32)}-${spanId}-01`, `00-${traceId}-${"0".repeat(16)}-01`],
    ...[sampled.toUpperCase(), sampled.slice(1), `${sampled}, ${sampled}`, `00-${traceId}-01`],
  ])
    it(`is ignored: ${malformed}`, () => {
      assert.equal(readParent(malformed, "a=1"), undefined);
    });

  it("is ignored or valid, whatever it is", () => {
    const part = fc.string({ unit: fc.constantFrom(..."0123456789abcdefF- ") });
    const changed = fc
      .tuple(fc.nat(54), fc.string({ maxLength: 3 }))
      .map(([at, text]) => sampled.slice(0, at) + text + sampled.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(part, changed, fc.string()), (text) => {
        const parent = readParent(text, null);
        if (parent === undefined) return;
        assert.match(parent.traceId, /^(?!0+$)[0-9a-f]{32}$/);
        assert.match(parent.spanId, /^(?!0+$)[0-9a-f]{16}$/);
      }),
      { numRuns: runs(500, 50_000) },
    );
  });

  it("decides with its flag, and else the share does", () => {
    const headers = (value?: string) =>
      new Headers(value === undefined ? {} : { traceparent: value });
    const none = new Traces(0, () => undefined);
    const all = new Traces(1, () => undefined);
    assert.equal(none.start(headers(sampled))?.traceId, traceId);
    assert.equal(none.start(headers()), undefined);
    assert.equal(all.start(headers(`00-${traceId}-${spanId}-00`)), undefined);
    assert.match(all.start(headers("malformed"))?.traceId ?? "", /^[0-9a-f]{32}$/);
  });
});

describe("without a collector", () => {
  it("no module of traces is loaded", async () => {
    const own = /(?:lib\/traces|traced-store|trace-exporter)\.ts$/;
    const files = (await readdir("src", { recursive: true })).filter((file) => /\.ts$/.test(file));
    for (const file of files.filter((name) => !own.test(name))) {
      const source = await readFile(join("src", file), "utf8");
      for (const [, names = "", from = ""] of source.matchAll(/^import (.*?) from "([^"]*)";$/gms))
        if (own.test(from) && !from.includes("core/"))
          assert.match(names, /^type /, `${file} loads ${from}`);
    }
  });
});

describe("the spans of a request", () => {
  let collector: Collector;
  let app: TestApp;
  const captured = captureLog();
  before(async () => {
    collector = await startCollector();
    app = await startApp(
      { otlpEndpoint: collector.url, otlpHeaders: "x-api-key=very%20secret" },
      captured.log,
    );
  });
  after(async () => {
    await app.stop();
    collector.close();
  });

  it(
    "are parse, authorize, store, commit wait and answer, under the server's",
    patience,
    async () => {
      const headers = {
        traceparent: sampled,
        tracestate: "a=1",
        "content-type": "application/json",
      };
      const body = '{"name":"Ada"}';
      const response = await app.request("/people", { method: "POST", headers, body });
      assert.equal(response.status, 201);
      await collector.until((spans) => spans.some((span) => span.name === "POST /{collection}"));
      const spans = collector.spans.filter((span) => span.traceId === traceId);
      const server = spans.find(({ kind }) => kind === 2);
      assert.equal(server?.parentSpanId, spanId);
      assert.equal(server?.traceState, "a=1");
      const names = new Set(spans.map(({ name }) => name));
      for (const name of ["parse", "authorize", "store token", "commit wait", "answer"])
        assert.ok(names.has(name), `${name} is not in ${[...names]}`);
      const ids = new Set(spans.map((span) => span.spanId));
      assert.equal(ids.size, spans.length);
      for (const span of spans) {
        assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
        if (span !== server) assert.ok(ids.has(span.parentSpanId ?? ""));
      }
      const token = spans.find(({ name }) => name === "store token");
      assert.equal(spans.find((span) => span.spanId === token?.parentSpanId)?.name, "authorize");
      assert.ok(server);
      const {
        "client.address": client,
        "restante.request_id": id,
        ...attributes
      } = attributesOf(server);
      assert.deepEqual(attributes, {
        "http.request.method": "POST",
        "http.route": "/{collection}",
        "http.response.status_code": "201",
        "url.path": "/people",
        "url.scheme": "http",
      });
      assert.equal(client, "127.0.0.1");
      assert.equal(id, response.headers.get("x-request-id"));
      assert.equal(collector.requests[0]?.headers["x-api-key"], "very secret");
      await captured.settled();
      assert.ok(captured.lines().some(({ trace }) => trace === traceId));
    },
  );

  it("name the problem, and neither query nor token", patience, async () => {
    const wrong = newSecret();
    await app.request("/people/none?fields=privatename", { token: wrong });
    await app.request(`/people/${wrong}`, {});
    await app.request("/people?page=privatevalue");
    await collector.until((spans) =>
      spans.some((span) => attributesOf(span)["restante.problem"] === "invalid-parameter"),
    );
    const text = collector.requests.map((request) => request.text).join();
    assert.doesNotMatch(text, /private/);
    assert.ok(!text.includes(wrong));
    assert.ok(!text.includes(app.admin));
    assert.doesNotMatch(captured.text(), /very secret/);
  });
});

describe("a collector that does not take spans", () => {
  const exporterFor = (endpoint: string) => {
    const captured = captureLog();
    const metrics = new Metrics();
    const options = { endpoint, headers: {}, resource: {}, log: captured.log, metrics };
    const value = (name: string) =>
      metrics.read().find((family) => family.name === name)?.samples[0]?.value;
    return { exporter: new TraceExporter(options), captured, value };
  };
  const spans = (count: number): readonly TraceSpan[] => {
    const made: TraceSpan[] = [];
    const traces = new Traces(1, (collected) => void made.push(...collected));
    while (made.length < count) traces.start(new Headers())?.end("GET", {}, false);
    return made;
  };

  it("fills no memory, and the end does not wait for it", patience, async () => {
    const collector = await startCollector();
    collector.status = undefined;
    const { exporter, value } = exporterFor(collector.url);
    for (const span of spans(10_000)) exporter.add([span]);
    assert.equal(value("restante_trace_spans_dropped_total"), 10_000 - 8_192);
    await exporter.close();
    assert.equal(value("restante_trace_spans_dropped_total"), 10_000);
    collector.close();
  });

  it("gets them when it takes them again, and the log says so once", patience, async () => {
    const collector = await startCollector();
    collector.status = 503;
    const { exporter, captured, value } = exporterFor(collector.url);
    exporter.add(spans(700));
    while (collector.requests.length < 2) await sleep(10);
    collector.status = 200;
    await collector.until((collected) => collected.length === 700);
    await exporter.close();
    assert.equal(value("restante_trace_spans_sent_total"), 700);
    assert.equal(value("restante_trace_spans_dropped_total"), 0);
    const messages = captured.lines().map(({ msg }) => msg);
    assert.deepEqual(messages, ["traces cannot be sent", "traces are sent again"]);
    collector.close();
  });

  it("loses those that it refuses for good", patience, async () => {
    const collector = await startCollector();
    collector.status = 400;
    const { exporter, captured, value } = exporterFor(collector.url);
    exporter.add(spans(3));
    await exporter.close();
    assert.equal(value("restante_trace_spans_dropped_total"), 3);
    assert.match(captured.text(), /it answered 400/);
    collector.close();
  });
});

describe("restante serve with traces", () => {
  let cwd: string;
  before(async () => {
    cwd = await mkdtemp(join(tmpdir(), "restante-traces-"));
  });
  after(() => rm(cwd, { recursive: true, force: true }));

  it("sends those of all workers, at the latest when it stops", patience, async () => {
    const collector = await startCollector();
    const secret = newSecret();
    const environment = {
      RESTANTE_ADMIN_TOKEN: secret,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    const running = await start(["--workers", "2"], { cwd, environment });
    const headers = { authorization: `Bearer ${secret}`, connection: "close" };
    for (let count = 0; count < 20; count++)
      assert.equal((await fetch(`${running.url}/-/settings`, { headers })).status, 200);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
    const routes = collector.spans.filter(({ kind }) => kind === 2).map(({ name }) => name);
    assert.deepEqual(routes, Array(20).fill("GET /-/settings"));
    collector.close();
  });

  it("starts, answers and stops without a collector", patience, async () => {
    const secret = newSecret();
    const environment = {
      RESTANTE_ADMIN_TOKEN: secret,
      RESTANTE_OTLP_ENDPOINT: "http://127.0.0.1:9",
    };
    const running = await start([], { cwd: join(cwd), environment });
    assert.equal((await fetch(`${running.url}/-/health`)).status, 200);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
  });
});
