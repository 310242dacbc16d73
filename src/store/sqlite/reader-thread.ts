// Runs a reader thread, which answers queries one after another on its own connection.

import { parentPort, workerData } from "node:worker_threads";
import { lowerThreadPriority } from "../../lib/thread-priority.ts";
import { Damage } from "../core/stored-resource.ts";
import { CommitCounter } from "./commit-counter.ts";
import { Connection, outageOf } from "./connection.ts";
import { CurrentReader } from "./current-reader.ts";
import { Reader, readerLimits } from "./reader.ts";
import {
  buffersIn,
  type LongRead,
  type LongResult,
  messagesOf,
  packResult,
  type ReaderData,
  type ReaderReply,
  type ReaderRequest,
} from "./reader-messages.ts";
import { largeColumns } from "./resource-reader.ts";

// The event loop runs first where cores are few.
lowerThreadPriority(10);

const { path, commitCounter, maxCounted, stopped } = workerData as ReaderData;
const limits = {
  ...readerLimits,
  resourceCacheBytes: 0,
  pageColumns: largeColumns,
  ...(maxCounted && { maxCounted }),
};
const commits = new CommitCounter(commitCounter);
let current: CurrentReader | undefined;

/** What is left of the last result. */
let messages: Iterator<ReaderReply> | undefined;

parentPort?.on("message", (request: ReaderRequest | "close") => {
  if (request !== "next") messages = undefined;
  if (request !== "close") return send(answer(request));
  current?.close();
  current = undefined;
  commits.close();
  parentPort?.postMessage("closed");
});

/** Bytes are not copied. */
function send(reply: ReaderReply): void {
  parentPort?.postMessage(reply, buffersIn(reply));
}

function answer(request: ReaderRequest): ReaderReply {
  if (request !== "next") return firstReply(request);
  const next = messages?.next();
  return next?.value ?? { kind: "bug", message: "there is no next message" };
}

function firstReply(request: LongRead): ReaderReply {
  try {
    current ??= new CurrentReader(() => new Reader(new Connection(path, "scan"), commits, limits));
    const result = current.readIn(request.collection, (reader) => read(reader, request));
    if (result === undefined) return { kind: "result", result };
    messages = messagesOf(packResult(result));
    return answer("next");
  } catch (error) {
    return toReply(error);
  }
}

function read(reader: Reader, request: LongRead): LongResult | undefined {
  const { collection } = request;
  if ("range" in request) return reader.slice(collection, request.range);
  return reader.query(collection, request.query, assertWanted);
}

function assertWanted(): void {
  if (Atomics.load(stopped, 0) === 1) throw new Error("the query was stopped");
}

function toReply(error: unknown): ReaderReply {
  const outage = outageOf(error);
  if (!outage)
    return { kind: "bug", message: error instanceof Error ? String(error.stack) : String(error) };
  const { reason, message } = outage;
  return { kind: "outage", reason, message, ...(outage instanceof Damage && { id: outage.id }) };
}
