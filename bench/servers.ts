// Starts what is measured: each a process of its own on loopback, with data of its own.

import { join } from "node:path";
import { type Installable, install } from "./install.ts";
import { fillJsonServer, fillPlatformatic } from "./prepare.ts";
import { bun, freePort, node, type Running, root, serve } from "./processes.ts";
import { type Dialect, jsonServerDialect, platformaticDialect } from "./scenarios.ts";

export const servers = {
  bare: "bare Bun.serve",
  restante: "Restante",
  workers: "Restante, 2 processes",
  "json-server": "json-server",
  platformatic: "@platformatic/db",
} as const;

export type ServerName = keyof typeof servers;
export const peerNames = ["json-server", "platformatic"] as const satisfies readonly Installable[];
export type PeerName = (typeof peerNames)[number];

/** A server that can be asked; or the reason why it is not there. */
export interface Contestant {
  readonly name: ServerName;
  readonly dialect: Dialect;
  readonly running: Running;
}

export interface Absent {
  readonly name: ServerName;
  readonly reason: string;
}

export async function startBare(status: number, body: string): Promise<Running> {
  const port = await freePort();
  const args = [join(root, "bench", "bare.ts"), `${port}`, `${status}`, body];
  return serve({ command: bun, args }, port, "/");
}

const source = join(root, "src", "main.ts");

interface Flags {
  readonly command?: string;
  /** The program, where it is not the source. */
  readonly main?: string;
  readonly own?: readonly string[];
  readonly runtime?: readonly string[];
}

/** Default settings but for the address; the token is taken on the first start of a store. */
export async function startRestante(
  folder: string,
  secret: string,
  { command = bun, main = source, own = [], runtime = [] }: Flags = {},
): Promise<Running> {
  const port = await freePort();
  const flags = ["--host", "127.0.0.1", "--port", `${port}`, "--data", folder, ...own];
  return serve(
    {
      command,
      args: [...runtime, main, "serve", ...flags],
      environment: { RESTANTE_ADMIN_TOKEN: secret },
      folder,
    },
    port,
    "/-/health",
  );
}

/** A peer filled with `count` people. */
export const startPeer = (
  name: PeerName,
  folder: string,
  count: number,
): Promise<Contestant | Absent> =>
  name === "json-server"
    ? attempt(name, jsonServerDialect, (home) => jsonServer(home, folder, count))
    : attempt(name, platformaticDialect, (home) => {
        const file = join(folder, "peer.sqlite");
        fillPlatformatic(file, count);
        return platformatic(home, folder, `sqlite://${file}`);
      });

/** On a Postgres database that has its tables already. */
export const startPeerOnPostgres = (folder: string, url: string): Promise<Contestant | Absent> =>
  attempt("platformatic", platformaticDialect, (home) => platformatic(home, folder, url));

/** It never throws: a peer that fails is shown as failed. */
async function attempt(
  name: PeerName,
  dialect: Dialect,
  start: (home: string) => Promise<Running>,
): Promise<Contestant | Absent> {
  try {
    return { name, dialect, running: await start(await install(name)) };
  } catch (error) {
    return { name, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function jsonServer(home: string, folder: string, count: number): Promise<Running> {
  await fillJsonServer(join(folder, "db.json"), count);
  const port = await freePort();
  const program = join(home, "node_modules", ".bin", "json-server");
  const flags = ["--host", "127.0.0.1", "--port", `${port}`, "--quiet"];
  return serve({ command: node, args: [program, ...flags, "db.json"], folder }, port, "/letters");
}

async function platformatic(home: string, folder: string, url: string): Promise<Running> {
  const port = await freePort();
  const args = [join(root, "bench", "platformatic.js"), home, folder, `${port}`, url];
  return serve({ command: node, args, folder }, port, "/letters/");
}
