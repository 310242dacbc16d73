// Copies the files that a snapshot refers to before others can delete them.

import { Outage } from "../model/outage.ts";
import type { Files } from "../store/files.ts";
import type { Snapshot, TransferSource } from "../store/transfer/transfer.ts";
import type { ObjectWriter } from "./objects.ts";
import type { Track } from "./track.ts";

interface CopiedFilesInput {
  readonly files: Files;
  readonly writer: ObjectWriter;
  readonly known: ReadonlyMap<string, string>;
  readonly track: Track;
}

/** So many snapshots are tried while others write. */
const freeTries = 3;
/** Writers fail when they wait some seconds longer. */
const maxHoldMs = 1_000;
const heldTries = 20;

/** `missing`: some files do not exist. `late`: there was no time to copy all. */
type CopyResult = "complete" | "missing" | "late";

export class CopiedFiles {
  readonly #input: CopiedFilesInput;
  /** The hashes of copied files, by key. */
  readonly #copied = new Map<string, string>();
  /** When the snapshot was taken. */
  snapshotAt = 0;
  heldMs: number | undefined;
  writtenBytes = 0;

  constructor(input: CopiedFilesInput) {
    this.#input = input;
  }

  hashOf(key: string): string | undefined {
    return this.#copied.get(key);
  }

  /**
   * Returns a snapshot whose files are copied. A file can be deleted after the snapshot and before its
   * copy: then a new snapshot is taken, and only new files are copied. The last tries hold writes, which
   * is short, because little is new since the try before.
   */
  async copyAll(source: TransferSource): Promise<Snapshot> {
    const step = this.#input.track("files", { unit: "files" });
    const isComplete = (result: CopyResult) => result === "complete";
    // A file that is missing while nobody writes is lost: a later snapshot would not have it either.
    const isAll = (result: CopyResult) => result !== "late";
    const snapshot =
      (await repeat(freeTries, () => this.#try(source, step.add, isComplete))) ??
      (await repeat(heldTries, () => this.#tryWhileHeld(source, step.add, isAll)));
    step.done();
    if (snapshot !== undefined) return snapshot;
    throw new Outage("busy", "files are uploaded faster than they can be copied");
  }

  async #tryWhileHeld(
    source: TransferSource,
    add: (count: number) => void,
    isEnough: (result: CopyResult) => boolean,
  ): Promise<Snapshot | undefined> {
    const hold = await source.holdWrites();
    const since = performance.now();
    try {
      return await this.#try(source, add, isEnough, since + maxHoldMs);
    } finally {
      await hold.release();
      this.heldMs = Math.max(this.heldMs ?? 0, performance.now() - since);
    }
  }

  async #try(
    source: TransferSource,
    add: (count: number) => void,
    isEnough: (result: CopyResult) => boolean,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<Snapshot | undefined> {
    const snapshot = await this.#snapshot(source);
    let isUsed = false;
    try {
      isUsed = isEnough(await this.#copy(snapshot, add, deadline));
    } finally {
      if (!isUsed) await snapshot.close();
    }
    return isUsed ? snapshot : undefined;
  }

  #snapshot(source: TransferSource): Promise<Snapshot> {
    this.snapshotAt = Date.now();
    return source.snapshot();
  }

  async #copy(
    snapshot: Snapshot,
    add: (count: number) => void,
    deadline: number,
  ): Promise<CopyResult> {
    let result: CopyResult = "complete";
    for await (const keys of snapshot.fileKeys())
      for (const key of keys) {
        if (this.#copied.has(key)) continue;
        if (performance.now() > deadline) return "late";
        if (await this.#copyOne(key)) add(1);
        else result = "missing";
      }
    return result;
  }

  async #copyOne(key: string): Promise<boolean> {
    const { files, writer, known } = this.#input;
    const earlier = known.get(key);
    if (earlier !== undefined && (await writer.has(earlier))) {
      this.#copied.set(key, earlier);
      return true;
    }
    const written = await writer.writeFile(() => files.open(key));
    if (written === undefined) return false;
    if (written.isNew) this.writtenBytes += written.size;
    this.#copied.set(key, written.sha256);
    return true;
  }
}

/** Returns the first result. */
async function repeat<T>(times: number, act: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let attempt = 1; attempt <= times; attempt++) {
    const result = await act();
    if (result !== undefined) return result;
  }
  return undefined;
}
