// The files in deploy/ fit the server: the settings, routes and metrics that they name exist.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { routes } from "../src/http/routes.ts";
import { Metrics } from "../src/lib/metrics.ts";
import { assemble } from "../src/server/app.ts";
import { type Config, readConfig } from "../src/server/config.ts";
import { createLog } from "../src/server/log.ts";
import { settings } from "../src/server/settings.ts";
import { Pool } from "../src/store/postgres/pool.ts";

const folder = fileURLToPath(new URL("../deploy", import.meta.url));
const read = (file: string): string => readFileSync(join(folder, file), "utf8");
const texts = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
  .filter((file) => !file.startsWith("patroni/"))
  .map((file) => [file, read(file)] as const);

const certificate = "restante_tls_certificate_expires_timestamp_seconds";
const metricName = /\b(?:restante|process)_[a-z_]+/g;

/** Histograms have three names each. */
const withoutPart = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, "");

async function existingMetrics(): Promise<ReadonlySet<string>> {
  const data = await mkdtemp(join(tmpdir(), "restante-"));
  const config = readConfig({ flags: {}, environment: {}, cwd: data }) as Config;
  const app = await assemble({ ...config, data }, createLog("silent"));
  const postgres = new Metrics();
  new Pool(() => Promise.reject(new Error("is not opened")), 1, postgres);
  const families = [...app.metrics.read(), ...postgres.read()];
  await app.close();
  await rm(data, { recursive: true });
  // It exists while the server listens with TLS.
  return new Set([certificate, ...families.map(({ name }) => name)]);
}

describe("deploy/", () => {
  it("names only settings that exist", () => {
    const all = Object.values(settings);
    const variables = new Set(["RESTANTE_CONFIG", ...all.map(({ variable }) => variable)]);
    const flags = new Set(["--config", ...all.map(({ flag }) => flag)]);
    for (const [file, text] of texts) {
      for (const [variable] of text.matchAll(/\bRESTANTE_[A-Z_]+/g))
        assert.ok(variables.has(variable), `${file}: ${variable}`);
      const serving = [...text.matchAll(/\bserve\b.*/g)].flatMap(([line]) =>
        [...line.matchAll(/--[a-z-]+/g)].map(([flag]) => flag),
      );
      for (const flag of serving) assert.ok(flags.has(flag), `${file}: ${flag}`);
    }
  });

  it("hands targets to the server as nginx got them, as the template does", () => {
    const template = readFileSync(join(folder, "../templates/app/README.md"), "utf8");
    for (const [file, text] of [...texts, ["the template", template] as const])
      for (const [, path] of text.matchAll(/proxy_pass\s+\w+:\/\/[^\s;$/]+(\/?)/g))
        assert.equal(path, "", `${file}: a path in proxy_pass decodes %2F`);
  });

  it("has a file of settings that is valid", () => {
    const result = readConfig({ flags: {}, environment: {}, cwd: join(folder, "systemd") });
    assert.ok(!Array.isArray(result), JSON.stringify(result));
  });

  it("asks for the health and the metrics at paths that exist", () => {
    const paths = new Set(Object.values(routes).map(({ path }) => path));
    const named = texts.flatMap(([file, text]) =>
      [...text.matchAll(/\/-\/[a-z]+/g)].map(([path]) => ({ file, path })),
    );
    for (const path of ["/-/health", "/-/ready", "/-/metrics"])
      assert.ok(
        named.some((one) => one.path === path),
        path,
      );
    for (const { file, path } of named)
      assert.ok(
        [...paths].some((known) => known.startsWith(path)),
        `${file}: ${path}`,
      );
  });

  it("draws and watches only metrics that exist", async () => {
    const existing = await existingMetrics();
    const used = (file: string) =>
      new Set([...read(file).matchAll(metricName)].map(([name]) => withoutPart(name)));
    for (const file of ["grafana/dashboard.json", "prometheus/rules.yaml"])
      for (const name of used(file)) assert.ok(existing.has(name), `${file}: ${name}`);
  });

  it("starts Bun with the same variables as bin/restante and the benchmarks", () => {
    const others = ["../bin/restante", "../bin/restante.js", "../bench/servers/restante.ts"];
    for (const file of ["docker/Dockerfile", ...others])
      assert.match(read(file), /\bMIMALLOC_PURGE_DELAY(?:=|: "|:-)1000\b/, file);
  });

  it("stops the server after it had time to finish its requests", () => {
    const graceMs = /graceMs = (\d+)_(\d+);/.exec(
      readFileSync(new URL("../src/server/lifecycle.ts", import.meta.url), "utf8"),
    );
    const graceSeconds = Number(`${graceMs?.[1]}${graceMs?.[2]}`) / 1_000;
    const times = [
      ["docker/compose.yaml", /restante:\n[\s\S]*?stop_grace_period: (\d+)s/],
      ["systemd/restante.service", /TimeoutStopSec=(\d+)/],
      ["kubernetes/embedded.yaml", /terminationGracePeriodSeconds: (\d+)/],
      ["kubernetes/postgres.yaml", /terminationGracePeriodSeconds: (\d+)/],
    ] as const;
    for (const [file, pattern] of times)
      assert.ok(Number(pattern.exec(read(file))?.[1]) > graceSeconds + 5, file);
  });
});
