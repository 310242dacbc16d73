// Every query of the dashboard has values in a real Prometheus that reads a server under load.
// RESTANTE_DASHBOARD_SVG=docs/dashboard.svg draws them, too. RESTANTE_DASHBOARD_SECONDS sets for how long.
// @runtimes only node

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newSecret } from "../../src/model/secret.ts";
import { type ServerProcess, start } from "../process.ts";
import { type DrawnPanel, drawDashboard, type Series } from "./draw-dashboard.ts";
import { freePort } from "./free-port.ts";
import { unless } from "./needs.ts";

const file = fileURLToPath(new URL("../../deploy/grafana/dashboard.json", import.meta.url));
const seconds = Number(process.env.RESTANTE_DASHBOARD_SECONDS ?? 30);
const picture = process.env.RESTANTE_DASHBOARD_SVG;
/** The embedded store has none. */
const withoutValues = new Set(["Postgres"]);

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

describe("the dashboard", () => {
  it("has values in every panel", { skip: unless(["prometheus"]) }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-dashboard-"));
    const admin = newSecret();
    const backups = ["--backup-to", join(folder, "backups"), "--backup-every", "1m"];
    const server = await start(["--data", join(folder, "data"), ...backups], {
      cwd: folder,
      environment: { RESTANTE_ADMIN_TOKEN: admin },
    });
    const prometheus = await startPrometheus(folder, server, admin);
    try {
      await load(server, admin, seconds * 1_000);
      const panels = await readPanels(prometheus.url);
      const empty = panels
        .filter(({ type, series }) => type !== "row" && series.length === 0)
        .map(({ title }) => title)
        .filter((title) => !withoutValues.has(title));
      assert.deepEqual(empty, []);
      if (picture !== undefined) await writeFile(picture, drawDashboard(panels));
    } finally {
      prometheus.child.kill("SIGTERM");
      await prometheus.ended;
      server.signal("SIGTERM");
      await server.ended;
      await rm(folder, { recursive: true });
    }
  });
});

async function startPrometheus(folder: string, server: ServerProcess, token: string) {
  const config = `scrape_configs:
  - job_name: restante
    scrape_interval: 1s
    metrics_path: /-/metrics
    authorization: { credentials: ${token} }
    static_configs: [{ targets: ["localhost:${server.port}"] }]
`;
  const path = join(folder, "prometheus.yaml");
  await writeFile(path, config);
  const port = await freePort();
  const args = [
    ...[`--config.file=${path}`, `--storage.tsdb.path=${join(folder, "series")}`],
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn("prometheus", args, { stdio: "ignore" });
  const ended = once(child, "exit");
  return { child, ended, url: `http://127.0.0.1:${port}` };
}

/** What clients do: read, write, query, upload and download, and sometimes wrongly. */
async function load({ url }: ServerProcess, token: string, ms: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const json = { ...headers, "content-type": "application/json" };
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(url + path, { headers, ...init });
    await response.clone().arrayBuffer();
    return response;
  };
  const endAt = Date.now() + ms;
  const client = async (number: number): Promise<void> => {
    for (let turn = 0; Date.now() < endAt; turn++) {
      const body = JSON.stringify({ name: `n${turn}`, age: turn % 90, text: "t".repeat(200) });
      const created = await send("/people", { method: "POST", headers: json, body });
      const path = created.headers.get("location") ?? "";
      await Promise.all([send(path), send(path), send("/people?limit=20"), send("/people/none")]);
      await send(path, { method: "PATCH", headers: json, body: '{"age":1}' });
      if (turn % 5 === 0) await send(`/people?age[gte]=${number}&sort=-name&limit=5`);
      if (turn % 10 === 0) await transfer(send, headers);
      // The load rises and falls, as that of people does.
      await sleep(20 + 20 * Math.sin(Date.now() / 15_000 + number));
    }
  };
  await Promise.all([1, 2, 3, 4].map(client));
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;

async function transfer(send: Send, headers: Readonly<Record<string, string>>): Promise<void> {
  const pdf = { ...headers, "content-type": "application/pdf" };
  const body = Buffer.alloc(50_000, 1);
  const created = await send("/scans", { method: "POST", headers: pdf, body });
  const { file } = (await created.json()) as { file: { url: string } };
  await send(file.url);
  const resumable = { ...pdf, "upload-complete": "?0" };
  await send("/scans", { method: "POST", headers: resumable, body: "a part" });
}

async function readPanels(url: string): Promise<readonly DrawnPanel[]> {
  const { panels } = JSON.parse(await readFile(file, "utf8")) as { panels: readonly Panel[] };
  return Promise.all(
    panels.map(async ({ type, title, gridPos, fieldConfig, targets = [] }) => {
      const series = await Promise.all(targets.map((target) => query(url, target)));
      const unit = fieldConfig?.defaults.unit ?? "";
      return { type, title, place: gridPos, unit, series: series.flat() };
    }),
  );
}

/** Runs a query as Grafana does, with the variables of the dashboard. */
async function query(
  url: string,
  { expr, legendFormat }: { readonly expr: string; readonly legendFormat: string },
): Promise<readonly Series[]> {
  const replaced = expr
    .replaceAll("$job", "restante")
    .replaceAll("$instance", ".*")
    .replaceAll("$__rate_interval", "10s");
  const end = Date.now() / 1_000;
  const step = Math.max(1, Math.round(seconds / 60));
  const asked = { query: replaced, start: `${end - seconds}`, end: `${end}`, step: `${step}` };
  const response = await fetch(`${url}/api/v1/query_range?${new URLSearchParams(asked)}`);
  const answer = (await response.json()) as Answer;
  assert.equal(answer.status, "success", `${replaced}: ${answer.error}`);
  return answer.data.result.map(({ metric, values }) => ({
    name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? ""),
    points: values
      .map(([at, value]) => [at, Number(value)] as const)
      .filter(([, y]) => !Number.isNaN(y)),
  }));
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}
