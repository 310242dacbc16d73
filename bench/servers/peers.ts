// Starts the servers that Restante is compared with: each a process of its own, with data of its own.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { request } from "../data/fill.ts";
import { fillJsonServer, fillPlatformatic, fillPocketBase } from "../data/peers.ts";
import {
  jsonServerApi,
  platformaticApi,
  pocketBaseApi,
  type ServerApi,
} from "../load/scenarios.ts";
import { install, type PeerName } from "./install.ts";
import {
  type Command,
  freePort,
  node,
  onCore,
  type Running,
  root,
  run,
  serve,
} from "./processes.ts";

export const serverTitles = {
  bare: "bare Bun.serve",
  restante: "Restante",
  workers: "Restante, 2 processes",
  "json-server": "json-server",
  platformatic: "@platformatic/db",
  pocketbase: "PocketBase",
} as const;

export type ServerName = keyof typeof serverTitles;

/** A server that can be asked; or the reason why it is not there. */
export interface Server {
  readonly name: ServerName;
  readonly api: ServerApi;
  readonly running: Running;
}

export interface Absent {
  readonly name: ServerName;
  readonly reason: string;
}

/** A peer filled with `count` people. It never throws: a peer that fails is shown as failed. */
export async function startPeer(
  name: PeerName,
  folder: string,
  count: number,
  core?: number,
): Promise<Server | Absent> {
  return attempt(name, async (home) => {
    switch (name) {
      case "json-server":
        return { api: jsonServerApi, running: await jsonServer(home, folder, count, core) };
      case "platformatic": {
        const file = join(folder, "peer.sqlite");
        fillPlatformatic(file, count);
        const running = await platformatic(home, folder, `sqlite://${file}`, core);
        return { api: platformaticApi, running };
      }
      case "pocketbase":
        return { api: pocketBaseApi, running: await pocketBase(home, folder, count, core) };
    }
  });
}

/** On a Postgres database that has its tables already. */
export const startPeerOnPostgres = (folder: string, url: string): Promise<Server | Absent> =>
  attempt("platformatic", async (home) => ({
    api: platformaticApi,
    running: await platformatic(home, folder, url),
  }));

async function attempt(
  name: PeerName,
  start: (home: string) => Promise<Omit<Server, "name">>,
): Promise<Server | Absent> {
  try {
    return { name, ...(await start(await install(name))) };
  } catch (error) {
    return { name, reason: error instanceof Error ? error.message : String(error) };
  }
}

const pinned = (command: Command, core: number | undefined): Command =>
  core === undefined ? command : onCore(command, core);

async function jsonServer(
  home: string,
  folder: string,
  count: number,
  core?: number,
): Promise<Running> {
  await fillJsonServer(join(folder, "db.json"), count);
  const port = await freePort();
  const program = join(home, "node_modules", ".bin", "json-server");
  const args = [program, "--host", "127.0.0.1", "--port", `${port}`, "--quiet", "db.json"];
  return serve(pinned({ command: node, args, folder }, core), port, "/letters");
}

async function platformatic(
  home: string,
  folder: string,
  url: string,
  core?: number,
): Promise<Running> {
  const port = await freePort();
  const script = join(root, "bench", "servers", "platformatic.js");
  const args = [script, home, folder, `${port}`, url];
  return serve(pinned({ command: node, args, folder }, core), port, "/letters/");
}

const admin = { identity: "bench@example.org", password: "a password of the benchmark" };

/** Starts it on an empty folder or with the data that is there. */
export const pocketBaseCommand = (home: string, folder: string, port: number): Command =>
  pocketBaseProgram(home, folder, ["serve", "--http", `127.0.0.1:${port}`]);

const pocketBaseProgram = (home: string, folder: string, args: readonly string[]): Command => ({
  command: join(home, readdirSync(home).find((name) => name === "base") ?? "base.exe"),
  args: [...args, "--dir", join(folder, "pb_data")],
  folder,
});

/** Its collections are made over its API, with rules that let everyone read and create. */
async function pocketBase(
  home: string,
  folder: string,
  count: number,
  core?: number,
): Promise<Running> {
  const upsert = ["superuser", "upsert", admin.identity, admin.password];
  await run(pocketBaseProgram(home, folder, upsert), 60);
  const port = await freePort();
  const command = pinned(pocketBaseCommand(home, folder, port), core);
  const server = await serve(command, port, "/api/health");
  try {
    await makeCollections(server.origin);
    fillPocketBase(join(folder, "pb_data", "data.db"), count);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function makeCollections(origin: string): Promise<void> {
  const post = (path: string, headers: Record<string, string>, body: object) =>
    request(
      `${origin}${path}`,
      {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      },
      200,
    );
  const path = "/api/collections/_superusers/auth-with-password";
  const { token } = JSON.parse(await post(path, {}, admin)) as { token: string };
  for (const name of ["people", "letters"])
    await post(
      "/api/collections",
      { authorization: token },
      {
        ...{ name, type: "base", listRule: "", viewRule: "", createRule: "" },
        fields: [
          { name: "name", type: "text", required: true },
          { name: "email", type: "email", required: true },
          { name: "created", type: "autodate", onCreate: true },
          { name: "updated", type: "autodate", onCreate: true, onUpdate: true },
        ],
      },
    );
}
