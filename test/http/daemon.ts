// The program as its users run it: a process of its own, which a test may kill, starve and start again.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { newSecret } from "../../src/model/token.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** One secret for all starts: it is set at the first, and every later one finds it in the store. */
const secret = newSecret();

export interface Daemon {
  readonly pid: number;
  request(path: string, init?: RequestInit): Promise<Response>;
  post(collection: string, fields: unknown): Promise<Response>;
  /** Sends the signal and waits for the end: its exit code, or null when the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the server on a folder, by the runtime that runs the test, and waits until it listens. */
export async function launch(folder: string): Promise<Daemon> {
  const config = join(folder, "restante.json");
  const settings = { host: "127.0.0.1", port: 0, data: "data", adminToken: secret };
  await writeFile(config, JSON.stringify(settings));
  const child = spawn(process.execPath, [main, "serve", "--config", config], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await listeningUrl(child);
  const { pid } = child;
  assert.ok(pid !== undefined);

  const request: Daemon["request"] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${secret}`);
    return fetch(url + path, { ...init, headers });
  };
  return {
    pid,
    request,
    post: (collection, fields) =>
      request(`/${collection}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(fields),
      }),
    async end(signal) {
      const exit = once(child, "exit") as Promise<[number | null]>;
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill(signal);
      const [code] = await exit;
      return code;
    },
  };
}

/** Standard output is read to the end, so that the server is never blocked by a full pipe. */
function listeningUrl(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout !== null);
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === "listening" && url !== undefined) resolve(url);
    });
    child.on("exit", (code, signal) => reject(new Error(`ended with ${code ?? signal}`)));
    child.on("error", reject);
  });
}
