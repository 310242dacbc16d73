// A server goes on when a file was left open, although that ends a process on Bun, and after what actions throw.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import { childrenOf, start } from "./process.ts";

const isBun = "bun" in process.versions;

/** Opens files that nothing refers to any more, and lets Bun collect them. */
const losingFiles = `
  import { open } from "node:fs/promises";
  export const description = "Leaves files open.", input = {};
  export async function run() {
    for (let count = 0; count < 20; count++) await open(new URL(import.meta.url));
    globalThis.Bun && setTimeout(() => Bun.gc(true));
    return 1;
  }`;

describe("a server in which files were left open", () => {
  it("logs them, and goes on", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "restante-"));
    writeFileSync(join(cwd, "lose.mjs"), losingFiles);
    const secret = newSecret();
    const { url, stdout, signal, ended } = await start(["--data", "data", "--actions", "."], {
      cwd,
      environment: { RESTANTE_ADMIN_TOKEN: secret },
    });
    const lose = async () => {
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      const response = await fetch(`${url}/-/actions/lose`, {
        method: "POST",
        headers,
        body: "{}",
      });
      assert.equal(response.status, 200, await response.text());
    };
    try {
      await lose();
      // Node only warns.
      while (isBun && !stdout().includes("a file was left open")) await sleep(20);
      await lose();
    } finally {
      signal("SIGTERM");
    }
    assert.equal((await ended).code, 0);
    rmSync(cwd, { recursive: true, force: true });
  });
});

/** Fails when it is loaded, in ways that show no frame of it, and with what is no error. */
const failing = `
  import { connect } from "node:net";
  connect(1, "127.0.0.1");
  setTimeout(() => { throw null; });
  Promise.reject(null);
  export const description = "Fails.", input = {};
  export const run = () => { setTimeout(() => { throw undefined; }); return 1; };`;

const onLinux = process.platform === "linux";

describe("a server whose reload brings the first actions", () => {
  it("logs the errors of their modules, in each process, and goes on", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "restante-"));
    const secret = newSecret();
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const { url, pid, stdout, signal, ended } = await start(
      ["--data", "data", "--workers", onLinux ? "2" : "1"],
      { cwd, environment: { RESTANTE_ADMIN_TOKEN: secret } },
    );
    try {
      const before = onLinux ? await childrenOf(pid) : [];
      mkdirSync(join(cwd, "some actions"));
      writeFileSync(join(cwd, "some actions/fail.mjs"), failing);
      writeFileSync(join(cwd, "restante.json"), '{ "actions": "some actions" }');
      const post = (path: string, body?: string) =>
        fetch(url + path, { method: "POST", headers, ...(body && { body }) });
      assert.equal((await post("/-/settings")).status, 200);
      const late = () => stdout().split("an action failed outside of its run").length - 1;
      const processes = onLinux ? 3 : 1;
      while (late() < 2 * processes) await sleep(20);
      assert.equal((await post("/-/actions/fail", "{}")).status, 200);
      while (late() < 2 * processes + 1) await sleep(20);
      assert.deepEqual(onLinux ? await childrenOf(pid) : [], before);
    } finally {
      signal("SIGTERM");
    }
    assert.equal((await ended).code, 0);
    rmSync(cwd, { recursive: true, force: true });
  });
});
