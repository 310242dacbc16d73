// Starts Restante, and the bare server that shows how fast an HTTP server can be at all.

import { join } from "node:path";
import {
  bun,
  freePort,
  type MeasuredRun,
  onCore,
  type Running,
  root,
  runMeasured,
  serve,
} from "./processes.ts";

export interface Flags {
  readonly command?: string;
  /** The program, where it is not the source. */
  readonly main?: string;
  readonly own?: readonly string[];
  readonly runtime?: readonly string[];
  /** The core that every thread runs on. */
  readonly core?: number | undefined;
}

/** As `bin/restante.js` sets them. */
const bunVariables = { MIMALLOC_PURGE_DELAY: "1000" };

const source = join(root, "src", "main.ts");

/** Default settings but for the address; the token is taken on the first start of a store. */
export async function startRestante(
  folder: string,
  secret: string,
  { command = bun, main = source, own = [], runtime = [], core }: Flags = {},
): Promise<Running> {
  const port = await freePort();
  const flags = ["--host", "127.0.0.1", "--port", `${port}`, "--data", folder, ...own];
  const program = {
    command,
    args: [...runtime, main, "serve", ...flags],
    environment: { RESTANTE_ADMIN_TOKEN: secret, ...bunVariables },
    folder,
  };
  return serve(core === undefined ? program : onCore(program, core), port, "/-/health");
}

/** Runs a command of Restante to its end. */
export const runRestante = (
  args: readonly string[],
  folder: string,
  timeoutSeconds: number,
): Promise<MeasuredRun> =>
  runMeasured({ command: bun, args: [source, ...args], folder }, timeoutSeconds);

export async function startBare(status: number, body: string, core?: number): Promise<Running> {
  const port = await freePort();
  const program = {
    command: bun,
    args: [join(root, "bench", "servers", "bare.ts"), `${port}`, `${status}`, body],
  };
  return serve(core === undefined ? program : onCore(program, core), port, "/");
}
