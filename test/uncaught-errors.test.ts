// A server goes on when a file was left open, although that ends a process on Bun.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/token.ts";
import { start } from "./process.ts";

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
