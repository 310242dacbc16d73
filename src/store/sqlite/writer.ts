// The writer's thread: commits the batches it is handed, one after another, on its own connection.

import { parentPort, workerData } from "node:worker_threads";
import { Outage } from "../store.ts";
import { BatchWriter } from "./batch.ts";
import { BellRope } from "./bell.ts";
import { Connection, storageTrouble } from "./connection.ts";
import { type DatabaseFile, isStillThere } from "./file.ts";
import { migrate } from "./schema.ts";
import { type Message, packVerdicts, type Reply, unpackChanges } from "./wire.ts";

const file = workerData as DatabaseFile;
let connection: Connection | undefined;
let rope: BellRope | undefined;
let batches: BatchWriter | undefined;

parentPort?.on("message", (message: Message) => parentPort?.postMessage(answer(message)));

function answer(message: Message): Reply {
  try {
    return { kind: "done", verdicts: packVerdicts(obey(message)) };
  } catch (error) {
    // After a failed write nothing that the connection holds in memory can be trusted.
    letGo();
    return explain(error);
  }
}

function obey(message: Message): ReturnType<BatchWriter["commit"]> {
  if (message !== "close") return openBatches().commit(unpackChanges(message));
  letGo();
  return [];
}

function openBatches(): BatchWriter {
  if (!isStillThere(file))
    throw new Outage("unavailable", `${file.path} was moved or replaced: restart Restante`);
  if (!batches) {
    connection = new Connection(file.path, "write");
    migrate(connection);
    rope = new BellRope(file.bell);
    batches = new BatchWriter(connection, rope);
  }
  return batches;
}

function letGo(): void {
  const last = [connection, rope];
  connection = undefined;
  rope = undefined;
  batches = undefined;
  try {
    for (const each of last) each?.close();
  } catch {
    // It is of no use any more; the error that led here is the one to tell.
  }
}

function explain(error: unknown): Reply {
  const trouble = storageTrouble(error);
  if (trouble) return { kind: "outage", reason: trouble.reason, message: trouble.message };
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "bug", message: words };
}
