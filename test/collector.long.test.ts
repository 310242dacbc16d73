// Traces in the OpenTelemetry Collector itself: it accepts every span, with parents, kinds and attributes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import { json, requestSender } from "./acknowledged-writes.ts";
import { freePort } from "./deploy/free-port.ts";
import { start } from "./process.ts";

const folders = (process.env.PATH ?? "").split(delimiter);
const found = folders.map((folder) => join(folder, "otelcol")).find((path) => existsSync(path));
const program = process.env.RESTANTE_TEST_OTELCOL ?? found;
const reason = "needs the OpenTelemetry Collector: otelcol, or its path in RESTANTE_TEST_OTELCOL";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

describe("the OpenTelemetry Collector", { skip: program === undefined && reason }, () => {
  it("gets the spans of a request below the caller's", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "restante-otelcol-"));
    const collector = await startCollector(cwd);
    const secret = newSecret();
    const environment = {
      RESTANTE_ADMIN_TOKEN: secret,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    const running = await start([], { cwd, environment });
    const ask = requestSender(running.url, secret);
    const post = json("POST", { name: "Ada" });
    const headers = { ...post.headers, traceparent: `00-${traceId}-${spanId}-01` };
    assert.equal((await ask("/people", { ...post, headers })).status, 201);
    assert.equal((await ask("/people/none")).status, 404);
    // What is not sent yet is sent at the end.
    running.signal("SIGTERM");
    await running.ended;
    const spans = await collector.until((all) =>
      all.some(({ problem }) => problem === "not-found"),
    );
    await collector.stop();
    await rm(cwd, { recursive: true });

    const own = spans.filter((span) => span.trace === traceId);
    const server = own.find(({ kind }) => kind === "Server");
    assert.deepEqual([server?.name, server?.parent], ["POST /{collection}", spanId]);
    assert.match(server?.text ?? "", /-> http\.response\.status_code: Int\(201\)/);
    assert.match(server?.text ?? "", /-> url\.path: Str\(\/people\)/);
    const names = own.map(({ name }) => name);
    for (const name of ["authorize", "parse", "commit wait", "answer"])
      assert.ok(names.includes(name), names.join());
    const ids = new Set(own.map(({ id }) => id));
    for (const span of own) if (span !== server) assert.ok(ids.has(span.parent), span.text);
    const missed = spans.find(({ problem }) => problem === "not-found");
    assert.notEqual(missed?.trace, traceId);
    assert.equal(missed?.parent, "");
    assert.match(collector.output(), /-> service\.name: Str\(restante\)/);
    assert.ok(!collector.output().includes(secret));
  });
});

interface Seen {
  readonly trace: string;
  readonly parent: string;
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly problem: string | undefined;
  readonly text: string;
}

/** Starts one that writes what it gets to its output. */
async function startCollector(cwd: string) {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { debug: { verbosity: "detailed" } },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { traces: { receivers: ["otlp"], exporters: ["debug"] } },
    },
  };
  await writeFile(join(cwd, "collector.yaml"), JSON.stringify(config));
  const child = spawn(program ?? "", ["--config", "file:collector.yaml"], { cwd });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  const ended = once(child, "close");
  const isOpen = () => output.includes("Everything is ready");
  while (!isOpen()) {
    assert.equal(child.exitCode, null, output);
    await sleep(50);
  }
  return {
    url: `http://${endpoint}`,
    output: () => output,
    async until(isThere: (spans: readonly Seen[]) => boolean): Promise<readonly Seen[]> {
      while (!isThere(spansIn(output))) await sleep(50);
      return spansIn(output);
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const spansIn = (output: string): readonly Seen[] =>
  output
    .split(/^Span #\d+$/m)
    .slice(1)
    .map((text) => {
      const member = (name: string) =>
        new RegExp(`^ +${name} +: ?(.*)$`, "m").exec(text)?.[1] ?? "";
      return {
        ...{ trace: member("Trace ID"), parent: member("Parent ID"), id: member("ID") },
        ...{ name: member("Name"), kind: member("Kind"), text },
        problem: /-> restante\.problem: Str\((.*)\)/.exec(text)?.[1],
      };
    });
