// Runs a reader thread, which answers queries one after another on its own connection.

import { parentPort, workerData } from "node:worker_threads";
import { Damage } from "../core/stored-resource.ts";
import { Connection, outageOf } from "./connection.ts";
import { CurrentReader } from "./current-reader.ts";
import { Reader, readerLimits } from "./reader.ts";
import {
  packResult,
  type ReaderData,
  type ReaderReply,
  type ReaderRequest,
} from "./reader-messages.ts";

const { path, maxCounted, stopped } = workerData as ReaderData;
const limits = { ...readerLimits, resourceCacheBytes: 0, ...(maxCounted && { maxCounted }) };
let current: CurrentReader | undefined;

parentPort?.on("message", (request: ReaderRequest | "close") => {
  if (request !== "close") return parentPort?.postMessage(answer(request));
  current?.close();
  current = undefined;
  parentPort?.postMessage("closed");
});

function answer({ number, collection, query }: ReaderRequest): ReaderReply {
  try {
    current ??= new CurrentReader(
      () => new Reader(new Connection(path, "scan"), undefined, limits),
    );
    const result = current.readIn(collection, (reader) =>
      reader.query(collection, query, () => assertWanted(number)),
    );
    return { kind: "result", result: result && packResult(result) };
  } catch (error) {
    return toReply(error);
  }
}

function assertWanted(number: number): void {
  if (Atomics.load(stopped, 0) === number) throw new Error("the query was stopped");
}

function toReply(error: unknown): ReaderReply {
  const outage = outageOf(error);
  if (!outage)
    return { kind: "bug", message: error instanceof Error ? String(error.stack) : String(error) };
  const { reason, message } = outage;
  return { kind: "outage", reason, message, ...(outage instanceof Damage && { id: outage.id }) };
}
