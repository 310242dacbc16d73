// Commits over a local socket: a command sends its changes to the process that owns the data folder.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  type Answer,
  type CommitRequest,
  type Committer,
  RemoteCommitter,
  runCommitRequest,
} from "./remote-committer.ts";
import { Outage } from "./store.ts";

/** The owner speaks first: commands of another version may mean something else by a change. */
interface Hello {
  readonly kind: "hello";
  readonly version: string;
}

/** The owner is of another version than the command. */
export class OtherVersion extends Error {}

/** Linux takes 107 bytes for a socket's path, macOS 103. */
const longestPath = 100;
const longestLine = 64 * 1024 * 1024;
const helloTimeoutMs = 3_000;
const answerTimeoutMs = 60_000;

export interface CommitListener {
  /** Takes no new connections, and answers what was asked. */
  close(): Promise<void>;
}

/** For the owner of the folder only: replaces the socket that a process which died has left. */
export async function listenForCommits(
  folder: string,
  version: string,
  commit: Committer["commit"],
): Promise<CommitListener> {
  const connections = new Set<Socket>();
  const running = new Set<Promise<void>>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    // The one who asked is gone: nobody waits for the answer.
    socket.on("error", () => undefined);
    send(socket, { kind: "hello", version });
    readLines<CommitRequest>(socket, (errand) => {
      const answered = runCommitRequest(commit, errand).then((answer) => send(socket, answer));
      running.add(answered);
      void answered.finally(() => running.delete(answered));
    });
  });
  const { path, forget } = addressOf(folder);
  try {
    removeSocket(folder);
    listenPrivately(server, path);
    await once(server, "listening");
  } finally {
    forget();
  }
  // An embedding program ends when its own work is done.
  server.unref();
  return {
    async close() {
      server.close();
      removeSocket(folder);
      await Promise.allSettled(running);
      for (const socket of connections) socket.end();
    },
  };
}

/** The socket has mode 0600 from its first moment, whatever the mode of the folder. */
function listenPrivately(server: Server, path: string): void {
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}

/** Undefined when nobody listens there, or nobody answers. */
export async function connectToOwner(
  folder: string,
  version: string,
): Promise<Committer | undefined> {
  const { path, forget } = addressOf(folder);
  const socket = connect(path);
  const hello = Promise.withResolvers<Hello | undefined>();
  const handed = new RemoteCommitter((errand) => send(socket, errand));
  const lose = () => {
    hello.resolve(undefined);
    handed.lose("the process that owns the folder ended before it answered");
  };
  socket.on("error", lose).on("close", lose);
  readLines<Hello | Answer>(socket, (message) => {
    if (message.kind === "hello") hello.resolve(message);
    else handed.receive(message);
  });
  const timer = setTimeout(() => hello.resolve(undefined), helloTimeoutMs);
  const heard = await hello.promise;
  clearTimeout(timer);
  forget();
  if (heard?.version === version) return committerOn(socket, handed);
  socket.destroy();
  if (heard === undefined) return undefined;
  throw new OtherVersion(
    `The server that owns ${folder} is version ${heard.version}, and this command is version ${version}. Use the same version for both.`,
  );
}

function committerOn(socket: Socket, handed: RemoteCommitter): Committer {
  return {
    get trouble() {
      return handed.trouble;
    },
    async commit(changes) {
      if (socket.destroyed)
        throw new Outage("unavailable", "the process that owns the folder ended");
      const timer = setTimeout(() => socket.destroy(), answerTimeoutMs);
      try {
        return await handed.commit(changes);
      } finally {
        clearTimeout(timer);
      }
    },
    settled: () => handed.settled(),
    async close() {
      socket.end();
    },
  };
}

function send(socket: Socket, message: Hello | CommitRequest | Answer): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** One JSON text on each line. Who sends anything else is cut off. */
function readLines<T>(socket: Socket, receive: (message: T) => void): void {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    try {
      if (rest.length > longestLine) throw new RangeError("the line is too long");
      for (const line of lines) receive(JSON.parse(line) as T);
    } catch {
      socket.destroy();
    }
  });
}

const socketName = "restante.sock";
/** Windows has named pipes instead, which are no files. */
const isPipe = process.platform === "win32";

function removeSocket(folder: string): void {
  if (!isPipe) rmSync(join(folder, socketName), { force: true });
}

/** A path that is short enough: where the folder's own is not, it leads through a link to the folder. */
function addressOf(folder: string): { readonly path: string; forget(): void } {
  const path = join(resolve(folder), socketName);
  if (isPipe) {
    const name = createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 32);
    return { path: `\\\\.\\pipe\\restante-${name}`, forget() {} };
  }
  if (Buffer.byteLength(path) <= longestPath) return { path, forget() {} };
  const temporary = mkdtempSync(join(tmpdir(), "restante-"));
  const link = join(temporary, "data");
  symlinkSync(resolve(folder), link);
  return {
    path: join(link, socketName),
    forget() {
      unlinkSync(link);
      rmdirSync(temporary);
    },
  };
}
