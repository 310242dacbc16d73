// Runs the writer thread, which commits batches one after another on its own connection.

import { parentPort } from "node:worker_threads";
import { Outage } from "../../model/outage.ts";
import type { EraseAnswer, EraseMessage } from "../erasure.ts";
import { tellMoved } from "./commit-counter.ts";
import { isIoFailure, outageOf } from "./connection.ts";
import { Database, type DatabaseOptions } from "./database.ts";
import {
  assertStillThere,
  type DatabaseFile,
  hasVerifiedCopy,
  messageOf,
  swapInFresh,
} from "./file.ts";
import { replaceByCopy } from "./repair.ts";
import { markSuspect, readSuspectMark, type SuspectRecord } from "./suspect.ts";
import {
  type Message,
  type Notice,
  type OpenRequest,
  packOutcomes,
  unpackChanges,
  type WriterReply,
} from "./writer-messages.ts";

/** How often the files are checked while nothing is written. */
const checkMs = 1_000;

/** The pause between two steps of work in the background, in which commits can run. */
const pauseMs = 1;

/** While others write, a pause is as long as the step before it, and at least so long. */
const busyPauseMs = 5;

let file: DatabaseFile;
let options: DatabaseOptions;
let isWorking = false;
/** Whether something was written since the last step. */
let isBusy = false;
/** Whether the last batch contained a definition. */
let isDefining = false;
let database: Database | undefined;
/** Whether the database was closed because of an error. */
let isDropped = false;
let suspectRecord: SuspectRecord | undefined;
let isMarked = false;
/** Whether there is a verified copy, which takes the place of the database. */
let isCopied = false;

parentPort?.on("message", (message: OpenRequest | Message) => {
  if (isOpenRequest(message)) {
    ({ file, options } = message);
    return;
  }
  parentPort?.postMessage(answer(message));
  attempt(() => database?.runCheckpointIfDue());
  attempt(() => {
    if (!isWorking && isDefining && database?.hasBuild) workSoon();
  });
});

setInterval(check, checkMs).unref();

const isOpenRequest = (message: OpenRequest | Message): message is OpenRequest =>
  typeof message === "object" && "kind" in message && message.kind === "open";

function answer(message: Message): WriterReply {
  try {
    return handle(message);
  } catch (error) {
    return toReply(fail(error));
  }
}

function handle(message: Message): WriterReply {
  if (message === "repair") return repair();
  if (message !== "close" && "kind" in message) return eraseOrScrub(message);
  if (message !== "close") {
    const changes = unpackChanges(message);
    isBusy = true;
    isDefining = changes.some(({ kind }) => kind === "define");
    const opened = open();
    // Nothing has been written, so the work in the background goes on.
    const refused = opened.refuse(changes);
    if (refused) return toReply(refused);
    return packOutcomes(changes, opened.commit(changes));
  }
  const last = database;
  database = undefined;
  if (suspectRecord) last?.abandon();
  else last?.close();
  isDropped = false;
  suspectRecord = undefined;
  isMarked = false;
  isCopied = false;
  return [];
}

const eraseOrScrub = (request: EraseMessage): EraseAnswer =>
  request.kind === "erase"
    ? { kind: "erased", erased: open().erase(request.erasure) }
    : { kind: "scrubbed", state: open().scrub(request.options) };

function open(): Database {
  if (suspectRecord) throw new Outage("suspect", words(suspectRecord));
  const marked = database ? undefined : readSuspectMark(file);
  if (marked) {
    isMarked = true;
    becomeSuspect(marked);
    throw new Outage("suspect", words(marked));
  }
  if (!database) {
    assertStillThere(file);
    database = new Database(file, options, report);
    isDropped = false;
  }
  return database;
}

/** Logs an error that no request reports. */
function report(message: string): void {
  const notice: Notice = { kind: "error", message };
  parentPort?.postMessage(notice);
}

/** Reacts to an error, and returns the error to report. */
function fail(error: unknown): unknown {
  if (isSuspicious(error)) {
    if (!suspectRecord) becomeSuspect(recordOf(error));
  } else if (!suspectRecord) {
    // After a failed write the cached state of the connection cannot be trusted.
    database?.abandon();
    database = undefined;
    isDropped = true;
  }
  return error;
}

function isSuspicious(error: unknown): boolean {
  if (isIoFailure(error)) return true;
  return error instanceof Outage && (error.reason === "suspect" || isSuspicious(error.cause));
}

const recordOf = (error: unknown): SuspectRecord => ({
  reason: error instanceof Error ? error.message : String(error),
  since: new Date().toISOString(),
  batch: database?.lastCommit ?? 0,
});

/** Stops writing to the files. The connections stay open, so that the data can be copied. */
function becomeSuspect(seen: SuspectRecord): void {
  suspectRecord = seen;
  if (!isMarked) isMarked = markSuspect(file, seen);
  const notice: Notice = { kind: "suspect", message: words(seen) };
  parentPort?.postMessage(notice);
}

/**
 * Replaces the files by a verified copy. After a failure it can be called again, and continues with the step
 * that failed. Nothing is written to the old files, whose blocks may stay bad.
 */
function repair(): WriterReply {
  if (suspectRecord) {
    isCopied ||= hasVerifiedCopy(file);
    if (!isCopied) {
      assertStillThere(file);
      database ??= new Database(file, options, report);
      replaceByCopy(file, database.copyLock, suspectRecord.batch);
      isCopied = true;
    }
    const fresh = swapInFresh(file);
    tellMoved(file.commitCounter);
    database?.abandon();
    database = undefined;
    file = fresh;
    suspectRecord = undefined;
    isMarked = false;
    isCopied = false;
  }
  return { kind: "repaired", identity: file.identity };
}

/**
 * Detects files that were removed while nothing is written, retries a mark that could not be written, and
 * opens the database again after an error, because the work in the background does not wait for a write.
 */
function check(): void {
  if (!suspectRecord) attempt(() => (isDropped ? open() : database)?.assertSame());
  else if (!isMarked) isMarked = markSuspect(file, suspectRecord);
  if (!isWorking) workInBackground();
}

/**
 * Runs steps until nothing is left to do now. They are no tasks (lib/tasks.ts), which run on the event loop:
 * a step uses the connection of this thread, between two commits.
 */
function workInBackground(): void {
  isWorking = false;
  const startedAt = performance.now();
  attempt(() => {
    isWorking = database?.workInBackground() ?? false;
  });
  if (isWorking) workSoon(performance.now() - startedAt);
}

function workSoon(stepMs = 0): void {
  isWorking = true;
  setTimeout(workInBackground, isBusy ? Math.max(busyPauseMs, stepMs) : pauseMs).unref();
  isBusy = false;
}

/** Runs background work, whose errors no request reports. */
function attempt(act: () => void): void {
  if (suspectRecord) return;
  try {
    act();
  } catch (error) {
    fail(error);
  }
}

const words = ({ reason }: SuspectRecord): string =>
  `writes are rejected, because the disk may have lost data (${reason})`;

function toReply(error: unknown): WriterReply {
  const outage = outageOf(error);
  if (outage) return { kind: "outage", reason: outage.reason, message: outage.message };
  if (error instanceof Error && "syscall" in error)
    return {
      kind: "outage",
      reason: "unavailable",
      message: `${messageOf(error)} (${error.message})`,
    };
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "bug", message: words };
}
