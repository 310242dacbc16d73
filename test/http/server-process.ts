// Starts a server as a separate process, which a test may kill and start again.

import { join } from "node:path";
import { newSecret } from "../../src/model/secret.ts";
import { type ProcessOptions, start } from "../process.ts";

/** One secret for all starts. The first one stores it. */
const secret = newSecret();

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** Of an admin. */
  readonly secret: string;
  request(path: string, init?: RequestInit): Promise<Response>;
  post(collection: string, fields: unknown): Promise<Response>;
  /** What it has logged so far. */
  log(): string;
  /** Sends the signal and waits for the end: the exit code, or null when the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the server on a folder, by the runtime that runs the test, and waits until it listens. */
export async function startServerProcess(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  command?: ProcessOptions["command"],
): Promise<ServerProcess> {
  const { url, port, stdout, signal, ended } = await start(["--data", join(folder, "data")], {
    cwd: folder,
    environment: { ...environment, RESTANTE_ADMIN_TOKEN: secret },
    ...(command && { command }),
  });
  const request: ServerProcess["request"] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${secret}`);
    return fetch(url + path, { ...init, headers });
  };
  return {
    pid: Number(/"pid":(\d+)/.exec(stdout())?.[1]),
    port,
    secret,
    request,
    log: stdout,
    post: (collection, fields) =>
      request(`/${collection}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(fields),
      }),
    async end(name) {
      signal(name);
      return (await ended).code;
    },
  };
}
