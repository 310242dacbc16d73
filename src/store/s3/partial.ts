// Stores incomplete uploads in a bucket: each append is an object of its own, which a second one seals.

import { isKey, newKey } from "../file-key.ts";
import type { NotAppended, OpenedFile, PartialUpload, PartialUploads } from "../files.ts";
import type { S3Client } from "./client.ts";
import {
  ifNone,
  type ListedObject,
  listObjects,
  putObject,
  readObject,
  readText,
  removeObject,
  stateOf,
} from "./objects.ts";
import { upload } from "./upload.ts";

const partial = "partial/";
const finished = "finished/";
const nothing = new Uint8Array();

/**
 * An append claims `open-7`, uploads its bytes, and seals itself as `sealed-7`, which names them. The
 * process of a later request ends it by an empty `sealed-7`. Both write only if there is none, so one of
 * them succeeds. A number is never used twice.
 */
interface Piece {
  readonly data: string;
  readonly size: number;
}

interface State {
  readonly objects: readonly ListedObject[];
  readonly pieces: readonly Piece[];
  /** The last number that was used. */
  readonly number: number;
  readonly isOpen: boolean;
}

export class S3PartialUploads implements PartialUploads {
  readonly #client: S3Client;

  constructor(client: S3Client) {
    this.#client = client;
  }

  async create(id: string, description: string): Promise<void> {
    if (!isKey(id)) throw new Error(`${id} is not the id of an upload`);
    await putObject(this.#client, descriptionOf(id), Buffer.from(description));
  }

  async describe(id: string, description: string): Promise<void> {
    if (isKey(id) && (await stateOf(this.#client, descriptionOf(id))) !== undefined)
      await putObject(this.#client, descriptionOf(id), Buffer.from(description));
  }

  async find(id: string): Promise<PartialUpload | undefined> {
    if (!isKey(id)) return undefined;
    const findFinished = () => this.#findFinished(id);
    // One that is finished meanwhile is found at the end.
    return (await findFinished()) ?? (await this.#findUnfinished(id)) ?? (await findFinished());
  }

  async #findFinished(id: string): Promise<PartialUpload | undefined> {
    const done = await stateOf(this.#client, finished + id);
    const description = done && (await readText(this.#client, finished + id));
    if (done === undefined || description === undefined) return undefined;
    const changedAt = Date.now() - done.ageMs;
    return { description, size: 0, pieces: 0, changedAt, isFinished: true };
  }

  async #findUnfinished(id: string): Promise<PartialUpload | undefined> {
    const state = await this.#endAppend(id);
    return state && this.#read(id, state);
  }

  async append(
    id: string,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    isValid: () => boolean = () => true,
  ): Promise<number | NotAppended> {
    const state = isKey(id) ? await this.#endAppend(id) : undefined;
    if (state === undefined) return "missing";
    if (sizeOf(state.pieces) !== offset) return "mismatch";
    const number = state.number + 1;
    if (!(await putObject(this.#client, openOf(id, number), nothing, ifNone))) return "superseded";
    return this.#receive(id, number, { offset, bytes, isValid });
  }

  async #receive(
    id: string,
    number: number,
    { offset, bytes, isValid }: Append,
  ): Promise<number | NotAppended> {
    const data = dataOf(id, newKey());
    const source = new KeptSource(bytes);
    const options = { maxBytes: Number.POSITIVE_INFINITY, isNew: true };
    const saved = await upload(this.#client, data, source, options);
    const isKept = source.error === undefined ? isValid() : true;
    const size = isKept && saved !== "too-large" ? saved.size : 0;
    const isSealed = await this.#seal(id, number, { data, size });
    if (!isSealed || size === 0) await removeObject(this.#client, data);
    if (source.error !== undefined) throw source.error;
    if (!isSealed) return "superseded";
    return isKept ? offset + size : "invalid";
  }

  /** Returns whether no later request has ended the append, and the upload still exists. */
  async #seal(id: string, number: number, piece: Piece): Promise<boolean> {
    const [name, body] = [sealedOf(id, number), JSON.stringify(piece)];
    const isFirst = await putObject(this.#client, name, Buffer.from(body), ifNone);
    // An attempt whose answer was lost may have written it.
    const isOwn = isFirst || (await readText(this.#client, name)) === body;
    if (isOwn && (await stateOf(this.#client, descriptionOf(id))) !== undefined) return true;
    if (isOwn) await this.#removeAll([name, openOf(id, number)]);
    return false;
  }

  async open(id: string): Promise<OpenedFile | undefined> {
    const state = isKey(id) ? await this.#stateOf(id) : undefined;
    return state && { size: sizeOf(state.pieces), bytes: this.#bytesOf(state.pieces) };
  }

  async *#bytesOf(pieces: readonly Piece[]): AsyncGenerator<Uint8Array> {
    for (const { data, size } of pieces) {
      const stream = await readObject(this.#client, data, 0, size);
      if (stream === undefined) throw new Error("a part of an unfinished upload is missing");
      yield* stream;
    }
  }

  async finish(id: string, description: string): Promise<void> {
    if (!isKey(id)) return;
    await putObject(this.#client, finished + id, Buffer.from(description));
    await this.#removeUpload(id);
  }

  async remove(id: string): Promise<void> {
    if (!isKey(id)) return;
    await removeObject(this.#client, finished + id);
    await this.#removeUpload(id);
  }

  /** The description goes first: without it, there is no upload. */
  async #removeUpload(id: string): Promise<void> {
    await removeObject(this.#client, descriptionOf(id));
    for await (const objects of listObjects(this.#client, folderOf(id)))
      await this.#removeAll(objects.map(({ name }) => name));
  }

  async #removeAll(names: readonly string[]): Promise<void> {
    for (const name of names) await removeObject(this.#client, name);
  }

  async *list(): AsyncGenerator<PartialUpload & { readonly id: string }> {
    for await (const [id] of this.#uploads()) {
      const state = await this.#stateOf(id);
      const found = state && (await this.#read(id, state));
      if (found !== undefined) yield { id, ...found };
    }
  }

  async sweep(unfinishedMs: number, finishedMs: number): Promise<number> {
    let count = 0;
    for await (const objects of listObjects(this.#client, finished))
      await this.#removeAll(
        objects.filter(({ ageMs }) => ageMs >= finishedMs).map(({ name }) => name),
      );
    for await (const [id, ageMs] of this.#uploads())
      if (ageMs >= unfinishedMs) {
        await this.#removeUpload(id);
        count++;
      }
    return count;
  }

  /** Yields the id of each upload, and the age of its youngest object. Objects are listed in order. */
  async *#uploads(): AsyncGenerator<readonly [id: string, ageMs: number]> {
    let last: [string, number] | undefined;
    for await (const objects of listObjects(this.#client, partial))
      for (const { name, ageMs } of objects) {
        const id = name.split("/")[1] ?? "";
        if (last?.[0] === id) last[1] = Math.min(last[1], ageMs);
        else {
          if (last !== undefined) yield last;
          last = [id, ageMs];
        }
      }
    if (last !== undefined) yield last;
  }

  /** Seals the append that is in progress. Returns undefined when there is no such upload. */
  async #endAppend(id: string): Promise<State | undefined> {
    for (;;) {
      const state = await this.#stateOf(id);
      if (!state?.isOpen) return state;
      const piece: Piece = { data: "", size: 0 };
      const body = Buffer.from(JSON.stringify(piece));
      await putObject(this.#client, sealedOf(id, state.number), body, ifNone);
    }
  }

  async #stateOf(id: string): Promise<State | undefined> {
    const objects: ListedObject[] = [];
    for await (const some of listObjects(this.#client, folderOf(id))) objects.push(...some);
    const names = objects.map(({ name }) => name);
    if (!names.includes(descriptionOf(id))) return undefined;
    const sealed = names.filter((name) => name.startsWith(sealedOf(id))).sort();
    const open = names.filter((name) => name.startsWith(openOf(id)));
    const number = Math.max(0, ...open.map(numberIn), ...sealed.map(numberIn));
    const pieces = await Promise.all(sealed.map((name) => this.#pieceOf(name)));
    const isOpen = number > 0 && !sealed.includes(sealedOf(id, number));
    return { objects, number, isOpen, pieces: pieces.filter(({ size }) => size > 0) };
  }

  async #pieceOf(name: string): Promise<Piece> {
    const text = await readText(this.#client, name);
    return text === undefined ? { data: "", size: 0 } : (JSON.parse(text) as Piece);
  }

  async #read(id: string, { objects, pieces }: State): Promise<PartialUpload | undefined> {
    const description = await readText(this.#client, descriptionOf(id));
    if (description === undefined) return undefined;
    const changedAt = Date.now() - Math.min(...objects.map(({ ageMs }) => ageMs));
    const more = { pieces: pieces.length, changedAt, isFinished: false };
    return { description, size: sizeOf(pieces), ...more };
  }
}

interface Append {
  readonly offset: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly isValid: () => boolean;
}

/** Ends when its source fails, so that what has arrived is kept. */
class KeptSource {
  readonly #bytes: AsyncIterable<Uint8Array>;
  error: unknown;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#bytes;
    } catch (error) {
      this.error = error;
    }
  }
}

const folderOf = (id: string): string => `${partial}${id}/`;
const descriptionOf = (id: string): string => `${folderOf(id)}description`;
const dataOf = (id: string, key: string): string => `${folderOf(id)}data-${key}`;
const digits = (number: number | undefined): string =>
  number === undefined ? "" : String(number).padStart(6, "0");
const openOf = (id: string, number?: number): string => `${folderOf(id)}open-${digits(number)}`;
const sealedOf = (id: string, number?: number): string => `${folderOf(id)}sealed-${digits(number)}`;
const numberIn = (name: string): number => Number(name.slice(name.lastIndexOf("-") + 1));

const sizeOf = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { size }) => sum + size, 0);
