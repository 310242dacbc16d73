// Memory: the peak of a server with ten clients that ask for something heavy and read nothing.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { bearer, request } from "../data/fill.ts";
import { type Engine, engines } from "../data/stores.ts";
import type { Ask } from "../load/load.ts";
import { bar } from "../progress.ts";
import { askedNames, type Heavy, heavyAsk, isOnLarge } from "./heavy-work.ts";
import { attempt, type Setting } from "./setting.ts";

export interface MemoryFigures {
  readonly clients: number;
  readonly lines: readonly MemoryLine[];
}

export interface MemoryLine {
  readonly engine: Engine;
  readonly heavy: Heavy;
  /** Of a server that was just started and has answered nothing. */
  readonly idleMb?: number;
  readonly peakMb?: number;
  readonly error?: string;
}

const clients = 10;
/** A build is asked for once, and its response is small. */
const names = askedNames.filter((heavy) => heavy !== "build");

export async function measureMemory(setting: Setting): Promise<MemoryFigures> {
  const lines: MemoryLine[] = [];
  for (const engine of engines) {
    const show = bar(`memory, ${engine}`, names.length);
    for (const [index, heavy] of names.entries()) {
      const label = `memory, ${engine}, ${heavy}`;
      const found = await attempt(label, () => measureOne(engine, heavy, setting));
      lines.push({ engine, heavy, ...found });
      show(index + 1);
    }
  }
  return { clients, lines };
}

async function measureOne(engine: Engine, heavy: Heavy, setting: Setting) {
  const { stores, sizes, secret } = setting;
  const data = await (isOnLarge(heavy)
    ? stores.large(engine, sizes.large)
    : stores.members(engine, sizes.big));
  const server = await stores.start(data);
  const sockets: Socket[] = [];
  try {
    const headers = bearer(secret);
    const idleMb = server.memory()?.residentMb ?? Number.NaN;
    const ask = await heavyAsk(heavy, server.origin, secret, sizes);
    if (ask === undefined) throw new Error("there is nothing to ask for");
    for (let index = 0; index < clients; index++)
      sockets.push(await askAndLeave(server.origin, ask, index));
    await Bun.sleep(sizes.memorySeconds * 1000);
    // The server must still be there for others.
    await request(`${server.origin}/members?limit=1`, { headers }, 200);
    return { idleMb, peakMb: server.memory()?.peakMb ?? Number.NaN };
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  }
}

/** Sends a request and never reads; the connection stays open. */
async function askAndLeave(origin: string, ask: Ask, index: number): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  const length = ask.body === "" ? [] : [`content-length: ${Buffer.byteLength(ask.body)}`];
  const fields = Object.entries(ask.headers).map(([name, value]) => `${name}: ${value}`);
  const head = [
    `${ask.method} ${ask.paths[index % ask.paths.length]} HTTP/1.1`,
    `host: ${hostname}`,
    ...fields,
    ...length,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${ask.body}`);
  return socket;
}
