// Starts a server of this program on a folder of its own, and reads its processor time and memory.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { commandArguments } from "../lib/program.ts";
import { newSecret } from "../model/token.ts";

export interface Meters {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

export class BenchServer {
  readonly port: number;
  readonly secret: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number, secret: string) {
    this.#child = child;
    this.port = port;
    this.secret = secret;
  }

  static async start(folder: string, signal: AbortSignal): Promise<BenchServer> {
    const secret = newSecret();
    const flags = ["--host", "127.0.0.1", "--port", "0", "--data", folder];
    const child = spawn(process.execPath, commandArguments("serve", ...flags), {
      cwd: folder,
      env: { RESTANTE_ADMIN_TOKEN: secret },
      stdio: ["ignore", "pipe", "inherit"],
    });
    signal.addEventListener("abort", () => child.kill("SIGKILL"));
    const port = await Promise.race([portOf(child.stdout), ended(child)]);
    return new BenchServer(child, port, secret);
  }

  async meters(): Promise<Meters> {
    const response = await fetch(`http://127.0.0.1:${this.port}/-/metrics`, {
      headers: { authorization: `Bearer ${this.secret}` },
    });
    const text = await response.text();
    return {
      cpuSeconds: Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]),
      memoryBytes: Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]),
    };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }
}

/** Reads the log until the server listens. The rest is read too, so that the server does not wait. */
function portOf(log: Readable): Promise<number> {
  return new Promise((resolve) => {
    createInterface(log).on("line", (line) => {
      const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === "listening" && url !== undefined) resolve(Number(new URL(url).port));
    });
  });
}

async function ended(child: ChildProcess): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`the server ended with exit code ${code}`);
}
