// The writer's thread: commits the batches it is handed, one after another, on its own connection.

import { parentPort, workerData } from "node:worker_threads";
import { Outage } from "../store.ts";
import { BatchWriter } from "./batch.ts";
import { Connection, storageTrouble } from "./connection.ts";
import { type DatabaseFile, isStillThere } from "./file.ts";
import { migrate } from "./schema.ts";
import { type Message, packVerdicts, type Reply, unpackChanges } from "./wire.ts";

const file = workerData as DatabaseFile;
let connection: Connection | undefined;
let batches: BatchWriter | undefined;

parentPort?.on("message", (message: Message) => parentPort?.postMessage(answer(message)));

function answer(message: Message): Reply {
  try {
    if (message === "close") {
      letGo();
      return { kind: "closed" };
    }
    const verdicts = openBatches().commit(unpackChanges(message));
    return { kind: "committed", verdicts: packVerdicts(verdicts) };
  } catch (error) {
    // After a failed write nothing that the connection holds in memory can be trusted.
    letGo();
    return explain(error);
  }
}

function openBatches(): BatchWriter {
  if (!isStillThere(file))
    throw new Outage("unavailable", `${file.path} was moved or replaced: restart Restante`);
  if (!batches) {
    connection = new Connection(file.path, "write");
    migrate(connection);
    batches = new BatchWriter(connection);
  }
  return batches;
}

function letGo(): void {
  const last = connection;
  connection = undefined;
  batches = undefined;
  try {
    last?.rollback();
  } catch {
    // Closing undoes it too; the error that led here is the one to tell.
  }
  last?.close();
}

function explain(error: unknown): Reply {
  const trouble = storageTrouble(error);
  if (trouble) return { kind: "outage", reason: trouble.reason, message: trouble.message };
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "bug", message: words };
}
