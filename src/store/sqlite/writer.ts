// The writer's thread: commits the batches it is handed, one after another, on its own connection.

import { parentPort, workerData } from "node:worker_threads";
import { Outage } from "../store.ts";
import { isIoFailure, storageTrouble } from "./connection.ts";
import { Database } from "./database.ts";
import { assertStillThere, finishSwap, hasFreshCopy, reasonOf } from "./file.ts";
import {
  type Message,
  packVerdicts,
  type Reply,
  type SuspectNotice,
  unpackChanges,
  type WriterData,
} from "./message-codec.ts";
import { replaceByCopy } from "./repair.ts";
import { markSuspect, readSuspicion, type Suspicion } from "./suspect.ts";

/** So often the files are looked at while nothing is written. */
const lookMs = 1_000;

/** Commits that wait come between two slices of erasing. */
const erasePauseMs = 5;

const { eraseAfterMs, ...given } = workerData as WriterData;
let { file } = given;
let isErasing = false;
let database: Database | undefined;
let suspicion: Suspicion | undefined;
let isMarked = false;

parentPort?.on("message", (message: Message) => {
  parentPort?.postMessage(answer(message));
  attempt(() => database?.runCheckpointIfDue());
});

setInterval(look, lookMs).unref();

function answer(message: Message): Reply {
  try {
    return handle(message);
  } catch (error) {
    return explain(fail(error));
  }
}

function handle(message: Message): Reply {
  if (message === "repair") return repair();
  if (message !== "close")
    return { kind: "done", verdicts: packVerdicts(open().commit(unpackChanges(message))) };
  const last = database;
  database = undefined;
  if (suspicion) last?.abandon();
  else last?.close();
  return { kind: "done", verdicts: [] };
}

function open(): Database {
  if (suspicion) throw new Outage("suspect", words(suspicion));
  const marked = database ? undefined : readSuspicion(file);
  if (marked) {
    isMarked = true;
    suspect(marked);
    throw new Outage("suspect", words(marked));
  }
  if (!database) {
    assertStillThere(file);
    database = new Database(file, eraseAfterMs);
  }
  return database;
}

/** What the error means for what comes next; returns the one to tell. */
function fail(error: unknown): unknown {
  if (isSuspicious(error)) {
    if (!suspicion) suspect(suspicionOf(error));
  } else if (!suspicion) {
    // After a failed write nothing that the connection holds in memory can be trusted.
    database?.abandon();
    database = undefined;
  }
  return error;
}

function isSuspicious(error: unknown): boolean {
  if (isIoFailure(error)) return true;
  return error instanceof Outage && (error.reason === "suspect" || isSuspicious(error.cause));
}

const suspicionOf = (error: unknown): Suspicion => ({
  reason: error instanceof Error ? error.message : String(error),
  since: new Date().toISOString(),
  batch: database?.lastBatch ?? 0,
});

/** From here on nothing is written to these files; their connections stay open, to be copied from. */
function suspect(seen: Suspicion): void {
  suspicion = seen;
  if (!isMarked) isMarked = markSuspect(file, seen);
  const notice: SuspectNotice = { kind: "suspect", message: words(seen) };
  parentPort?.postMessage(notice);
}

/** Replaces the files by a verified copy. Asked again after a failure, it goes on where it was. */
function repair(): Reply {
  if (suspicion) {
    if (!hasFreshCopy(file)) assertStillThere(file);
    database ??= new Database(file);
    if (!hasFreshCopy(file)) {
      replaceByCopy(file, database.guard, suspicion.batch);
    }
    const fresh = finishSwap(file);
    database.tellMoved();
    database.abandon();
    database = undefined;
    file = fresh;
    suspicion = undefined;
    isMarked = false;
  }
  return { kind: "repaired", identity: file.identity };
}

/** Notices files that were taken away while nobody writes, and leaves a mark that could not be left. */
function look(): void {
  if (!suspicion) attempt(() => database?.assertSame());
  else if (!isMarked) isMarked = markSuspect(file, suspicion);
  if (!isErasing) erase();
}

/** Works until nothing is left to erase now. */
function erase(): void {
  isErasing = false;
  attempt(() => {
    isErasing = database?.eraseSome() ?? false;
  });
  if (isErasing) setTimeout(erase, erasePauseMs).unref();
}

/** Does what nobody waits for. */
function attempt(act: () => void): void {
  if (suspicion) return;
  try {
    act();
  } catch (error) {
    fail(error);
  }
}

const words = ({ reason }: Suspicion): string =>
  `no write is taken, because the disk may have lost some (${reason})`;

function explain(error: unknown): Reply {
  const trouble = storageTrouble(error);
  if (trouble) return { kind: "outage", reason: trouble.reason, message: trouble.message };
  if (error instanceof Error && "syscall" in error)
    return {
      kind: "outage",
      reason: "unavailable",
      message: `${reasonOf(error)} (${error.message})`,
    };
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "bug", message: words };
}
