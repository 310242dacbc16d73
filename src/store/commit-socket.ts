// Sends commits over a local socket: a CLI command hands its changes to the server that owns the data folder.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Outage } from "../model/outage.ts";
import {
  type CommitOwner,
  type CommitReply,
  type CommitRequest,
  type Committer,
  RemoteCommitter,
  runCommitRequest,
} from "./remote-committer.ts";

/** Sent by the owner first, because another version may use another format. */
interface Hello {
  readonly kind: "hello";
  readonly version: string;
}

/** Thrown when the owner runs another version than the command. */
export class OtherVersion extends Error {}

/** A socket's path can have 107 bytes on Linux, 103 on macOS. */
const longestPath = 100;
const longestLine = 64 * 1024 * 1024;
const helloTimeoutMs = 3_000;
const answerTimeoutMs = 60_000;

export interface CommitListener {
  /** Stops accepting connections, and answers the requests in progress. */
  close(): Promise<void>;
}

/** Only the owner of the folder may call it: it replaces the socket that a crashed process has left. */
export async function listenForCommits(
  folder: string,
  version: string,
  writer: CommitOwner,
): Promise<CommitListener> {
  const connections = new Set<Socket>();
  const running = new Set<Promise<void>>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    // The client has disconnected and does not wait for an answer.
    socket.on("error", () => undefined);
    send(socket, { kind: "hello", version });
    readLines<CommitRequest>(socket, (request) => {
      const answered = runCommitRequest(writer, request).then((answer) => send(socket, answer));
      running.add(answered);
      void answered.finally(() => running.delete(answered));
    });
  });
  const { path, cleanUp } = addressOf(folder);
  try {
    removeSocket(folder);
    listenPrivately(server, path);
    await once(server, "listening");
  } finally {
    cleanUp();
  }
  // The socket does not keep an embedding program running.
  server.unref();
  return {
    async close() {
      server.close();
      removeIfPossible(folder);
      await Promise.allSettled(running);
      for (const socket of connections) socket.end();
    },
  };
}

/** Creates the socket with mode 0600, whatever the mode of the folder. */
function listenPrivately(server: Server, path: string): void {
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}

/** Returns undefined when no process listens on the socket or answers in time. */
export async function connectToOwner(
  folder: string,
  version: string,
): Promise<Committer | undefined> {
  const { path, cleanUp } = addressOf(folder);
  const socket = connect(path);
  const hello = Promise.withResolvers<Hello | undefined>();
  const remote = new RemoteCommitter((request) => send(socket, request));
  const lose = () => {
    hello.resolve(undefined);
    remote.rejectAll("the process that owns the folder exited before it answered");
  };
  socket.on("error", lose).on("close", lose);
  readLines<Hello | CommitReply>(socket, (message) => {
    if (message.kind === "hello") hello.resolve(message);
    else remote.receive(message);
  });
  const timer = setTimeout(() => hello.resolve(undefined), helloTimeoutMs);
  const owner = await hello.promise;
  clearTimeout(timer);
  cleanUp();
  if (owner?.version === version) return committerOn(socket, remote);
  socket.destroy();
  if (owner === undefined) return undefined;
  throw new OtherVersion(
    `The server that owns ${folder} is version ${owner.version}, and this command is version ${version}. Use the same version for both.`,
  );
}

function committerOn(socket: Socket, remote: RemoteCommitter): Committer {
  const requireOwner = () => {
    if (socket.destroyed)
      throw new Outage("unavailable", "the process that owns the folder exited");
  };
  return {
    get lastError() {
      return remote.lastError;
    },
    async commit(changes) {
      requireOwner();
      const timer = setTimeout(() => socket.destroy(), answerTimeoutMs);
      try {
        return await remote.commit(changes);
      } finally {
        clearTimeout(timer);
      }
    },
    // Without a limit of time: it depends on the size of the database.
    async erase(erasure) {
      requireOwner();
      return remote.erase(erasure);
    },
    async scrub(options) {
      requireOwner();
      return remote.scrub(options);
    },
    settled: () => remote.settled(),
    async close() {
      socket.end();
    },
  };
}

function send(socket: Socket, message: Hello | CommitRequest | CommitReply): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** Reads one JSON text per line, and closes the connection when a line is not valid. */
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
/** Windows has named pipes, which are not files. */
const isPipe = process.platform === "win32";

function removeSocket(folder: string): void {
  if (!isPipe) rmSync(join(folder, socketName), { force: true });
}

/** A file system that has become read-only must not stop the end of the owner. The next one removes it. */
function removeIfPossible(folder: string): void {
  try {
    removeSocket(folder);
  } catch {
    // Who connects is refused.
  }
}

/** Returns a path within the length limit: when the folder's path is too long, through a temporary symbolic link. */
function addressOf(folder: string): { readonly path: string; cleanUp(): void } {
  const path = join(resolve(folder), socketName);
  if (isPipe) {
    const name = createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 32);
    return { path: `\\\\.\\pipe\\restante-${name}`, cleanUp() {} };
  }
  if (Buffer.byteLength(path) <= longestPath) return { path, cleanUp() {} };
  const temporary = mkdtempSync(join(tmpdir(), "restante-"));
  const link = join(temporary, "data");
  symlinkSync(resolve(folder), link);
  return {
    path: join(link, socketName),
    cleanUp() {
      unlinkSync(link);
      rmdirSync(temporary);
    },
  };
}
