// Uploads that arrive in several requests: their state and their bytes, as objects in a folder or a bucket.

import { FileOutage } from "../model/outage.ts";
import { isKey } from "./file-key.ts";

type Bytes = AsyncIterable<Uint8Array>;

/** Stores objects with names such as `partial/ID/000007`. What it stores is on disk when a method resolves. */
export interface UploadObjects {
  /**
   * Stores a text as a whole: the `first` of a folder, a `new` one or `any`. Resolves with false when there is
   * a text already that should be new, or when its folder is gone.
   */
  put(name: string, text: string, which: "first" | "new" | "any"): Promise<boolean>;
  read(name: string): Promise<string | undefined>;
  /** Takes a new name for bytes. Resolves with false like `put`. */
  claim(name: string): Promise<boolean>;
  /** Resolves with the number of bytes. What it has written stays when it fails, if the storage can keep it. */
  write(name: string, bytes: Bytes): Promise<number>;
  /** How many bytes are there of another process, which still writes or was killed. */
  settle(name: string): Promise<number>;
  bytes(name: string, size: number): Promise<Bytes | undefined>;
  /** Removes a text, whose name stays taken. */
  empty(name: string): Promise<void>;
  list(folder: string): Promise<UploadFolder | undefined>;
  /** Yields the ids of all uploads that have a folder. */
  ids(): AsyncIterable<string>;
  remove(name: string): Promise<void>;
  removeFolder(folder: string): Promise<void>;
  removeOlder(folder: string, olderThanMs: number): Promise<void>;
}

/** What is in the folder of one upload. */
export interface UploadFolder {
  readonly names: readonly string[];
  readonly changedAt: number;
  /** The size of the last object by name. */
  readonly lastBytes: number;
}

export type UploadEnd = "completed" | "cancelled";

export interface PartialUpload {
  readonly description: string;
  /** 0 when the upload is finished. */
  readonly size: number;
  /** How often it has changed: an append is a change. */
  readonly version: number;
  readonly changedAt: number;
  readonly isFinished: boolean;
}

/**
 * `missing`: there is no such upload; `mismatch`: it has another size; `invalid`: the bytes are not
 * valid; `superseded`: a later request has ended this append.
 */
export type NotAppended = "missing" | "mismatch" | "invalid" | "superseded";

/** Another request has completed or cancelled the upload. */
export class UploadEnded extends Error {}

/** What is stored as a version. */
interface UploadState {
  readonly description: string;
  /** The appends that have bytes, by the number of their version. */
  readonly pieces: readonly { readonly number: number; readonly size: number }[];
  readonly end?: UploadEnd | undefined;
}

interface Upload extends UploadState, PartialUpload {
  readonly id: string;
  /** Whether an append is in progress, or was killed. */
  readonly isOpen: boolean;
}

/** After so many bytes an append looks whether a later request has ended it. */
const lookBytes = 16 * 1024 * 1024;

const digits = (number: number): string => String(number).padStart(6, "0");
const folderOf = (id: string): string => `partial/${id}/`;
const stateOf = (id: string, version: number): string => folderOf(id) + digits(version);
const dataOf = (id: string, version: number): string => `${stateOf(id, version)}.data`;
const notes = "finished/";

/**
 * Uploads that are not complete. Several processes may use one at the same time: an append of one
 * process ends what another process is appending. An id has 32 hex digits and is never used again.
 *
 * A change stores the whole state as the next version, `000007`, which only one request can. An append writes
 * to `000007.data` before that. A later request that finds these bytes stores version 7 itself, with those
 * that are there. So it waits for nobody, and what a killed process has written counts. Without `000001`
 * there is no upload.
 */
export class PartialUploads {
  readonly #objects: UploadObjects;

  constructor(objects: UploadObjects) {
    this.#objects = objects;
  }

  /** Creates an upload without bytes. Resolves when it is on disk. */
  async create(id: string, description: string): Promise<void> {
    if (!isKey(id)) throw new Error(`${id} is not the id of an upload`);
    await this.#objects.put(stateOf(id, 1), JSON.stringify({ description, pieces: [] }), "first");
  }

  /** Replaces the description of an upload, if there is one. */
  async describe(id: string, description: string): Promise<void> {
    for (;;) {
      const upload = await this.#endAppend(id);
      if (upload === undefined || (await this.#change(upload, { description }))) return;
    }
  }

  /**
   * Ends an append in progress, whose bytes so far are kept, so that the size is final. An unfinished upload
   * whose description is not allowed is not found, and goes on.
   */
  async find(
    id: string,
    isAllowed: (description: string) => boolean = () => true,
  ): Promise<PartialUpload | undefined> {
    const found = (await this.#findFinished(id)) ?? (await this.#find(id));
    // One that is finished meanwhile has a note now.
    if (found === undefined) return this.#findFinished(id);
    if (found.isFinished) return found;
    const upload = isAllowed(found.description) ? await this.#endAppend(id) : undefined;
    return upload?.end === "cancelled" ? undefined : (upload ?? this.#findFinished(id));
  }

  async #findFinished(id: string): Promise<PartialUpload | undefined> {
    const note = isKey(id) ? await this.#objects.read(notes + id) : undefined;
    return note && { ...JSON.parse(note), size: 0, version: 0, isFinished: true };
  }

  /**
   * Ends an append in progress, and appends bytes at `offset`. Resolves with the new size when they are on
   * disk. When the source fails, what has arrived is kept, and the error is thrown. When `isValid` returns
   * false after the last byte, nothing of this append is kept.
   */
  async append(
    id: string,
    offset: number,
    bytes: Bytes,
    isValid: () => boolean = () => true,
  ): Promise<number | NotAppended> {
    const upload = await this.#endAppend(id);
    if (upload === undefined) return "missing";
    if (upload.end !== undefined) return "superseded";
    if (upload.size !== offset) return "mismatch";
    const number = upload.version + 1;
    if (!(await this.#objects.claim(dataOf(id, number)))) return "superseded";
    const errors: unknown[] = [];
    const arriving = this.#untilError(upload, bytes, errors);
    const size = await this.#objects.write(dataOf(id, number), arriving);
    const isKept = errors.length > 0 || isValid();
    const isStored = await this.#change(upload, isKept ? withPiece(upload, size) : {});
    const counted = isStored && isKept ? undefined : ((await this.#find(id))?.pieces ?? []);
    if (counted?.every((piece) => piece.number !== number))
      await this.#objects.remove(dataOf(id, number));
    if (!isStored) return "superseded";
    if (errors.length > 0) throw errors[0];
    return isKept ? offset + size : "invalid";
  }

  /** Ends early when the source fails, so that what has arrived is kept, or when a later request has ended this. */
  async *#untilError(upload: Upload, bytes: Bytes, errors: unknown[]): AsyncGenerator<Uint8Array> {
    let left = lookBytes;
    try {
      for await (const chunk of bytes) {
        yield chunk;
        left -= chunk.byteLength;
        if (left > 0) continue;
        left = lookBytes;
        if ((await this.#find(upload.id))?.version !== upload.version) throw new UploadEnded();
      }
    } catch (error) {
      errors.push(error);
    }
  }

  /**
   * Decides how an upload ends, once for all processes; nothing is appended afterwards. It is completed
   * only while it has `size` bytes, and ends an append in progress when it is cancelled. Resolves with
   * whether it ends in this way.
   */
  async end(id: string, how: UploadEnd, size?: number): Promise<boolean> {
    for (;;) {
      const upload = await (how === "cancelled" ? this.#endAppend(id) : this.#find(id));
      if (upload === undefined) return false;
      if (upload.end !== undefined) return upload.end === how;
      if (how === "completed" && (upload.isOpen || upload.size !== size)) return false;
      if (await this.#change(upload, { end: how })) return true;
    }
  }

  /** Takes back that the upload was completed. */
  async reopen(id: string): Promise<void> {
    const upload = await this.#find(id);
    if (upload?.end === "completed") await this.#change(upload, { end: undefined });
  }

  /**
   * Returns all bytes, or undefined when there is no such upload. Reading them throws `UploadEnded` when
   * another process finishes or removes the upload.
   */
  async open(id: string): Promise<{ readonly size: number; readonly bytes: Bytes } | undefined> {
    const upload = await this.#find(id);
    if (upload === undefined || upload.end === "cancelled") return undefined;
    return { size: sizeOf(upload), bytes: this.#bytesOf(upload) };
  }

  async *#bytesOf({ id, pieces }: Upload): AsyncGenerator<Uint8Array> {
    for (const { number, size } of pieces) {
      let left = size;
      for await (const chunk of (await this.#objects.bytes(dataOf(id, number), size)) ?? []) {
        left -= chunk.byteLength;
        yield chunk;
      }
      if (left > 0 && (await this.#find(id)) === undefined) throw new UploadEnded();
      if (left > 0) throw new FileOutage("damaged", "a part of an unfinished upload is missing");
    }
  }

  /** Removes the bytes, and stores this description of the finished upload for `find`. */
  async finish(id: string, description: string): Promise<void> {
    const note = JSON.stringify({ description, changedAt: Date.now() });
    if (isKey(id)) await this.#objects.put(notes + id, note, "any");
    await this.#removeUnfinished(id);
  }

  /** Ignores uploads that do not exist. */
  async remove(id: string): Promise<void> {
    await this.#removeUnfinished(id);
    if (isKey(id)) await this.#objects.remove(notes + id);
  }

  /** What a killed process leaves without the first version is removed by the sweep. */
  async #removeUnfinished(id: string): Promise<void> {
    if (!isKey(id)) return;
    await this.#objects.remove(stateOf(id, 1));
    await this.#objects.removeFolder(folderOf(id));
  }

  /** Yields every upload that is not finished, and ends no append. */
  async *list(): AsyncGenerator<PartialUpload & { readonly id: string }> {
    for await (const id of this.#objects.ids()) {
      const upload = await this.#find(id);
      if (upload !== undefined && !(await this.#isLeft(upload))) yield upload;
    }
  }

  /** Whether a killed process has left it when it had ended. */
  async #isLeft({ id, end }: Upload): Promise<boolean> {
    return end === "cancelled" || (await this.#findFinished(id)) !== undefined;
  }

  /**
   * Removes what has not changed for so long, and at any age what a killed process has left of an upload
   * that is finished or cancelled. Resolves with the number of unfinished uploads removed.
   */
  async sweep(unfinishedMs: number, finishedMs: number): Promise<number> {
    let count = 0;
    for await (const id of this.#objects.ids()) {
      const upload = await this.#find(id);
      const isLeft = upload === undefined || (await this.#isLeft(upload));
      if (!isLeft && Date.now() - upload.changedAt < unfinishedMs) continue;
      await this.#removeUnfinished(id);
      if (!isLeft) count++;
    }
    // Last: without it, what a killed process has left would be an unfinished upload again.
    await this.#objects.removeOlder(notes, finishedMs);
    return count;
  }

  /** Ends an append in progress. Returns undefined when there is no such upload. */
  async #endAppend(id: string): Promise<Upload | undefined> {
    for (;;) {
      const upload = await this.#find(id);
      if (!upload?.isOpen) return upload;
      const size = await this.#objects.settle(dataOf(id, upload.version + 1));
      await this.#change(upload, withPiece(upload, size));
    }
  }

  async #find(id: string): Promise<Upload | undefined> {
    for (let former = 0; ; ) {
      const folder = isKey(id) ? await this.#objects.list(folderOf(id)) : undefined;
      if (!folder?.names.includes(digits(1))) return undefined;
      const { names, changedAt, lastBytes } = folder;
      const version = Math.max(...names.map(Number).filter(Number.isInteger));
      const text = await this.#objects.read(stateOf(id, version));
      if (!text && version === former)
        throw new FileOutage("damaged", "the state of an unfinished upload is missing");
      former = version;
      // Another request has changed or removed it meanwhile.
      if (!text) continue;
      const state: UploadState = JSON.parse(text);
      const isOpen = names.includes(`${digits(version + 1)}.data`);
      const size = sizeOf(state) + (isOpen ? lastBytes : 0);
      return { ...state, id, size, version, changedAt, isFinished: false, isOpen };
    }
  }

  /** Stores the next version. Returns false when another request has done so, or the upload is gone. */
  async #change(upload: Upload, changes: Partial<UploadState>): Promise<boolean> {
    const { id, version, description, pieces, end } = { ...upload, ...changes };
    const [name, text] = [stateOf(id, version + 1), JSON.stringify({ description, pieces, end })];
    const isStored = await this.#objects.put(name, text, "new");
    // An attempt whose answer was lost may have stored it.
    if (!isStored && (await this.#objects.read(name)) !== text) return false;
    const isThere = (await this.#objects.read(stateOf(id, 1))) !== undefined;
    // A late request must not store this version again, and the first one must not come back.
    if (isThere && version > 1) await this.#objects.empty(stateOf(id, version));
    if (!isThere) await this.#objects.remove(name);
    return isThere;
  }
}

const sizeOf = ({ pieces }: UploadState): number => pieces.reduce((sum, { size }) => sum + size, 0);

/** The pieces of an upload and those of the next version. */
const withPiece = ({ pieces, version }: Upload, size: number): Pick<UploadState, "pieces"> => ({
  pieces: size > 0 ? [...pieces, { number: version + 1, size }] : pieces,
});
