// Uploads that arrive in several requests: who may continue them, how long they are kept, and how much they may use together.

import { randomBytes } from "node:crypto";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  type NotAppended,
  type PartialUpload,
  type PartialUploads,
  UploadEnded,
} from "../store/partial-uploads.ts";
import type { CollectionAccess, CollectionPermission } from "./collection-access.ts";
import { reservedMs, type UploadsFree, UploadTally } from "./upload-tally.ts";

/** The request that an upload is the body of. */
export interface UploadRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Without credentials. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What is stored with the bytes. */
interface UploadDescription {
  readonly request: UploadRequest;
  /** Who may continue the upload; null for that of an anonymous caller, which anyone who knows its id may. */
  readonly owner: string | null;
  /** Whose number of uploads it counts for. */
  readonly caller: string;
  /** Whose Idempotency-Key it has: then another token cannot carry out the request once more. */
  readonly keyOwner?: string | null;
  readonly maxBytes: number;
  /** Null until the client names it. */
  readonly length: number | null;
  /** The URL of the result of a finished upload. */
  readonly location?: string | undefined;
}

export interface ResumableUpload extends UploadDescription {
  readonly id: string;
  readonly size: number;
  readonly isFinished: boolean;
  readonly expiresAt: number;
}

/** What came of the request of an upload. */
export interface Performed<T> {
  readonly response: T;
  /** Whether a repeated attempt would have the same result. */
  readonly isFinal: boolean;
  /** The URL of the result. */
  readonly location?: string | undefined;
}

export interface UploadSettings {
  readonly clock: () => number;
  /** How long an upload is kept after its last change. */
  readonly lifetimeMs: number;
  /** The limit of all unfinished uploads. */
  readonly maxBytes: number;
}

/** How long the state of a finished upload can be asked for. */
const finishedMs = 3_600_000;
/** Bounds the time that it takes to find an upload. */
const maxPieces = 10_000;

/** Since the process was started. */
export interface UploadCounts {
  begun: number;
  completed: number;
  expired: number;
}

export class ResumableUploads {
  readonly counts: Readonly<UploadCounts>;
  readonly #counts: UploadCounts = { begun: 0, completed: 0, expired: 0 };
  readonly #partial: PartialUploads;
  readonly #settings: UploadSettings;
  readonly #tally: UploadTally;
  /** The transfers in progress of this process. */
  readonly #transfers = new Map<string, AbortController>();
  /** The ids of uploads whose request this process performs now. */
  readonly #completing = new Set<string>();
  /** The descriptions of finished uploads that could not be noted, for example on a full disk. */
  readonly #unnoted = new Map<string, string>();

  constructor(partial: PartialUploads, settings: UploadSettings) {
    this.counts = this.#counts;
    this.#partial = partial;
    this.#settings = settings;
    this.#tally = new UploadTally(partial, settings);
  }

  /** Creates an upload for a request that the caller may make. */
  async create(
    access: CollectionAccess,
    permission: CollectionPermission,
    upload: Pick<UploadDescription, "request" | "caller" | "keyOwner" | "maxBytes" | "length">,
  ): Promise<ResumableUpload | Problem> {
    await this.#noteAll();
    const description = { ...upload, owner: ownerOf(access.principal) };
    const rejected =
      access.require(permission) ?? (await this.#tally.add(description, upload.length ?? 0));
    if (rejected !== undefined) return rejected;
    const id = randomBytes(16).toString("hex");
    try {
      await this.#partial.create(id, JSON.stringify(description));
    } catch (error) {
      await this.discard({ id }).catch(() => undefined);
      throw error;
    }
    this.#counts.begun++;
    const changedAt = this.#settings.clock();
    return this.#read(id, { description, changedAt, size: 0, isFinished: false });
  }

  /** Returns the upload of this caller, and ends a transfer to it that is in progress. */
  async find(principal: Principal, id: string): Promise<ResumableUpload | Problem> {
    const found = await this.#partial.find(id, (description) => {
      const isOwn = mayContinue(principal, { description });
      if (isOwn) this.#transfers.get(id)?.abort();
      return isOwn;
    });
    if (found === undefined || !mayContinue(principal, found)) return notFound;
    const upload = this.#read(id, { ...found, description: read(found) });
    if (upload.expiresAt < this.#settings.clock()) return notFound;
    return found.version < maxPieces ? upload : manyPieces;
  }

  /** Stores the length when the client names it. */
  async setLength(upload: ResumableUpload, length: number): Promise<ResumableUpload | Problem> {
    const full = await this.#tally.reserve(upload, length, upload.size);
    if (full !== undefined) return full;
    const { id, size: _, isFinished: __, expiresAt: ___, ...description } = { ...upload, length };
    await this.#partial.describe(id, JSON.stringify(description));
    const expiresAt = this.#settings.clock() + this.#settings.lifetimeMs;
    return { ...upload, length, expiresAt };
  }

  /**
   * How many bytes may still be appended, and why no more. An upload that goes on late needs room for all
   * of its length again.
   */
  async room(upload: ResumableUpload): Promise<UploadRoom | Problem> {
    const { maxBytes, length, size, expiresAt } = upload;
    if (length !== null) {
      const { clock, lifetimeMs } = this.#settings;
      const isLapsed = expiresAt - lifetimeMs + reservedMs < clock();
      // Former counts may still have its length.
      if (isLapsed) this.#tally.forget();
      const full = isLapsed ? await this.#tally.reserve(upload, length, size) : undefined;
      return full ?? { bytes: length - size, reason: "length" };
    }
    const free = await this.#tally.free(upload);
    const left = maxBytes - size;
    return free.bytes < left ? free : { bytes: left, reason: "maxBytes" };
  }

  /** `open` gets the signal of the transfer's end: a later request aborts it. */
  async append(
    { id, size }: ResumableUpload,
    open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
    isValid: () => boolean,
  ): Promise<number | NotAppended> {
    const transfer = new AbortController();
    this.#transfers.get(id)?.abort();
    this.#transfers.set(id, transfer);
    try {
      return await this.#partial.append(id, size, open(transfer.signal), isValid);
    } finally {
      if (this.#transfers.get(id) === transfer) this.#transfers.delete(id);
    }
  }

  /** Whether this process performs the request of the upload now. */
  isCompleting({ id }: ResumableUpload): boolean {
    return this.#completing.has(id);
  }

  /**
   * Performs the request of an upload with its bytes. Returns undefined when another request continues,
   * completes or cancels the upload: then nothing was written. An error after the end is only reported.
   */
  async complete<T>(
    upload: ResumableUpload,
    perform: (bytes: AsyncGenerator<Uint8Array>) => Promise<Performed<T>>,
    onError: (error: unknown) => void,
  ): Promise<T | undefined> {
    if (this.isCompleting(upload)) return undefined;
    this.#completing.add(upload.id);
    const bytes = new UploadBytes(this.#partial, upload);
    try {
      const { response, isFinal, location } = await perform(bytes.read());
      if (bytes.isLost) return undefined;
      // The request has been carried out: an error now must not look like its failure.
      await this.#end(upload, isFinal, location).catch(onError);
      return response;
    } catch (error) {
      if (bytes.isLost) return undefined;
      await this.#partial.reopen(upload.id).catch(onError);
      throw error;
    } finally {
      this.#completing.delete(upload.id);
    }
  }

  /** Removes the bytes; the caller can still ask whether the upload is complete. */
  async #end(upload: ResumableUpload, isFinal: boolean, location?: string): Promise<void> {
    const { id, request, owner, caller, maxBytes, size } = upload;
    if (!isFinal) return this.#partial.reopen(id);
    this.#counts.completed++;
    const description = { request, owner, caller, maxBytes, length: size, location };
    this.#unnoted.set(id, JSON.stringify(description));
    await this.#note(id);
  }

  /** Notes that an upload is finished, and removes its bytes. */
  async #note(id: string): Promise<void> {
    const description = this.#unnoted.get(id);
    if (description !== undefined) await this.#partial.finish(id, description);
    this.#unnoted.delete(id);
    this.#tally.forget();
  }

  async #noteAll(): Promise<void> {
    for (const id of this.#unnoted.keys()) await this.#note(id).catch(() => undefined);
  }

  async remove(principal: Principal, id: string): Promise<Problem | undefined> {
    const upload = await this.find(principal, id);
    if (upload instanceof Problem && upload !== manyPieces) return upload;
    const isFinished = !(upload instanceof Problem) && upload.isFinished;
    if (!isFinished && !(await this.#partial.end(id, "cancelled"))) {
      const ended = await this.find(principal, id);
      return ended instanceof Problem ? ended : completing;
    }
    await this.#partial.remove(id);
    this.#tally.forget();
    return undefined;
  }

  /** Removes an upload that cannot be continued. */
  async discard({ id }: Pick<ResumableUpload, "id">): Promise<void> {
    await this.#partial.remove(id);
    this.#tally.forget();
  }

  /** Removes what has expired or is finished. Returns how many unfinished uploads had expired. */
  async sweep(): Promise<number> {
    const { lifetimeMs } = this.#settings;
    await this.#noteAll();
    const count = await this.#partial.sweep(lifetimeMs, Math.min(lifetimeMs, finishedMs));
    this.#counts.expired += count;
    return count;
  }

  #read(id: string, { description, size, changedAt, isFinished }: FoundUpload): ResumableUpload {
    const shown = isFinished ? (description.length ?? 0) : size;
    const expiresAt = changedAt + this.#settings.lifetimeMs;
    return { ...description, id, size: shown, isFinished, expiresAt };
  }
}

interface FoundUpload extends Pick<PartialUpload, "size" | "changedAt" | "isFinished"> {
  readonly description: UploadDescription;
}

export interface UploadRoom {
  readonly bytes: number;
  readonly reason: "length" | "maxBytes" | UploadsFree["reason"];
}

type DescribedUpload = Pick<PartialUpload, "description">;

const read = ({ description }: DescribedUpload): UploadDescription => JSON.parse(description);

function mayContinue(principal: Principal, upload: DescribedUpload): boolean {
  const { owner } = read(upload);
  return owner === null || owner === ownerOf(principal);
}

/** A subject may continue with another of its tokens. */
const ownerOf = ({ subject, credential, kind }: Principal): string | null =>
  kind === "anonymous" ? null : (subject ?? credential?.id ?? kind);

const notFound = new Problem(
  "not-found",
  "There is no upload at this address for this caller: it has expired or was cancelled, or it belongs to another caller. Send the token that began it, or begin a new upload.",
);

export const completing = new Problem(
  "conflict",
  "Another request is completing this upload. Ask with HEAD whether it is complete.",
);

const manyPieces = new Problem(
  "content-too-large",
  `The upload has arrived in ${maxPieces} pieces, which is the limit. Begin a new upload with larger pieces.`,
);

interface UploadSize {
  readonly id: string;
  readonly size: number;
}

class UploadBytes {
  readonly #partial: PartialUploads;
  readonly #upload: UploadSize;
  /** Whether another request goes on with the upload, or has ended it. */
  isLost = false;

  constructor(partial: PartialUploads, upload: UploadSize) {
    this.#partial = partial;
    this.#upload = upload;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#readAll();
    } catch (error) {
      this.isLost = error instanceof UploadEnded;
      throw error;
    }
  }

  async *#readAll(): AsyncGenerator<Uint8Array> {
    const { id, size } = this.#upload;
    const opened = await this.#partial.open(id);
    if (opened?.size !== size) throw new UploadEnded();
    yield* opened.bytes;
    if (!(await this.#partial.end(id, "completed", size))) throw new UploadEnded();
  }
}
