// Stores incomplete uploads in a bucket: each append is an object of its own, which a second one seals.

import { FileOutage } from "../../model/outage.ts";
import { isKey, newKey } from "../file-key.ts";
import {
  type IsAllowed,
  type NotAppended,
  type OpenedFile,
  type PartialUpload,
  type PartialUploads,
  type UploadEnd,
  UploadEnded,
} from "../files.ts";
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
import type { Owner } from "./owner.ts";
import {
  changedOf,
  dataOf,
  descriptionOf,
  finished,
  folderOf,
  type ListedUpload,
  nothingSent,
  numberIn,
  openOf,
  sealedOf,
  sizeOf,
  type UploadPiece,
  type UploadState,
  uploadsIn,
} from "./pieces.ts";
import { upload } from "./upload.ts";

const nothing = new Uint8Array();
export class S3PartialUploads implements PartialUploads {
  readonly #client: S3Client;
  readonly #owner: Owner;

  constructor(client: S3Client, owner: Owner) {
    this.#client = client;
    this.#owner = owner;
  }

  async create(id: string, description: string): Promise<void> {
    if (!isKey(id)) throw new Error(`${id} is not the id of an upload`);
    await this.#owner.claim();
    await putObject(this.#client, descriptionOf(id), Buffer.from(description));
  }

  async describe(id: string, description: string): Promise<void> {
    const isThere = () => this.#isThere(descriptionOf(id));
    if (!isKey(id) || !(await isThere())) return;
    await putObject(this.#client, changedOf(id), Buffer.from(description));
    if (!(await isThere())) await removeObject(this.#client, changedOf(id));
  }

  async find(id: string, isAllowed?: IsAllowed): Promise<PartialUpload | undefined> {
    if (!isKey(id)) return undefined;
    const findFinished = () => this.#findFinished(id);
    const findUnfinished = () => this.#findUnfinished(id, isAllowed);
    // One that is finished meanwhile is found at the end.
    return (await findFinished()) ?? (await findUnfinished()) ?? (await findFinished());
  }

  async #findFinished(id: string): Promise<PartialUpload | undefined> {
    const done = await stateOf(this.#client, finished + id);
    const description = done && (await readText(this.#client, finished + id));
    if (done === undefined || description === undefined) return undefined;
    const changedAt = Date.now() - done.ageMs;
    return { description, size: 0, pieces: 0, changedAt, isFinished: true };
  }

  async #findUnfinished(id: string, isAllowed: IsAllowed = () => true) {
    const text = await readText(this.#client, descriptionOf(id));
    if (text === undefined || !isAllowed(text)) return undefined;
    const state = await this.#endAppend(id);
    return state && this.#read(id, state, text);
  }

  async append(
    id: string,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    isValid: () => boolean = () => true,
  ): Promise<number | NotAppended> {
    const state = await this.#endAppend(id);
    if (state === undefined) return "missing";
    if (state.end !== undefined) return "superseded";
    if (sizeOf(state.pieces) !== offset) return "mismatch";
    const number = state.number + 1;
    if (!(await putObject(this.#client, openOf(id, number), nothing, ifNone))) return "superseded";
    return this.#receive(id, number, { offset, bytes, isValid });
  }

  async #receive(
    id: string,
    number: number,
    { offset, bytes, isValid }: AppendRequest,
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
  async #seal(id: string, number: number, piece: UploadPiece): Promise<boolean> {
    const [name, body] = [sealedOf(id, number), JSON.stringify(piece)];
    const isFirst = await putObject(this.#client, name, Buffer.from(body), ifNone);
    // An attempt whose answer was lost may have written it.
    const isOwn = isFirst || (await readText(this.#client, name)) === body;
    if (isOwn && (await this.#isThere(descriptionOf(id)))) return true;
    if (isOwn) await this.#removeAll([name, openOf(id, number)]);
    return false;
  }

  async end(id: string, how: UploadEnd, size?: number): Promise<boolean> {
    const state = how === "cancelled" ? await this.#endAppend(id) : await this.#stateOf(id);
    if (state === undefined) return false;
    if (state.end !== undefined) return state.end === how;
    const isChanged = state.isOpen || sizeOf(state.pieces) !== size;
    if (how === "completed" && isChanged) return false;
    // Another request may have taken the number.
    const isEnded = await this.#seal(id, state.number + 1, { ...nothingSent, end: how });
    return isEnded || this.end(id, how, size);
  }

  async reopen(id: string): Promise<void> {
    const state = await this.#stateOf(id);
    if (state?.end === "completed") await this.#seal(id, state.number + 1, nothingSent);
  }

  async open(id: string): Promise<OpenedFile | undefined> {
    const state = await this.#stateOf(id);
    if (state === undefined || state.end === "cancelled") return undefined;
    return { size: sizeOf(state.pieces), bytes: this.#bytesOf(id, state.pieces) };
  }

  async *#bytesOf(id: string, pieces: readonly UploadPiece[]): AsyncGenerator<Uint8Array> {
    for (const { data, size } of pieces) {
      const stream = await readObject(this.#client, data, 0, size);
      if (stream === undefined) throw await this.#missing(id);
      yield* stream;
    }
  }

  async #missing(id: string): Promise<Error> {
    const isThere = await this.#isThere(descriptionOf(id));
    const text = "a part of an unfinished upload is missing";
    return isThere ? new FileOutage("damaged", text) : new UploadEnded();
  }

  async finish(id: string, description: string): Promise<void> {
    if (!isKey(id)) return;
    await putObject(this.#client, finished + id, Buffer.from(description));
    await this.#removeUpload(id);
  }

  async remove(id: string): Promise<void> {
    if (!isKey(id)) return;
    await this.#removeUpload(id);
    await removeObject(this.#client, finished + id);
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
    for await (const { id } of uploadsIn(this.#client)) {
      const state = await this.#stateOf(id);
      const found = state && (await this.#read(id, state));
      if (found !== undefined && !(await this.#isThere(finished + id))) yield { id, ...found };
    }
  }

  async sweep(unfinishedMs: number, finishedMs: number): Promise<number> {
    await this.#owner.claim();
    let count = 0;
    for await (const upload of uploadsIn(this.#client)) {
      const isEnded = await this.#isEnded(upload);
      if (!isEnded && upload.ageMs < unfinishedMs) continue;
      await this.#removeUpload(upload.id);
      if (!isEnded) count++;
    }
    // Last: without it, what a killed process has left would be an unfinished upload again.
    for await (const objects of listObjects(this.#client, finished))
      await this.#removeAll(
        objects.filter(({ ageMs }) => ageMs >= finishedMs).map(({ name }) => name),
      );
    return count;
  }

  /** Whether a process that was killed has left it while it finished or removed the upload. */
  async #isEnded({ id, lastName }: ListedUpload): Promise<boolean> {
    if (!(await this.#isThere(descriptionOf(id)))) return true;
    if (await this.#isThere(finished + id)) return true;
    const isSealed = lastName.startsWith(sealedOf(id));
    return isSealed && (await this.#pieceOf(lastName)).end === "cancelled";
  }

  async #isThere(name: string): Promise<boolean> {
    return (await stateOf(this.#client, name)) !== undefined;
  }

  /** Seals the append that is in progress. Returns undefined when there is no such upload. */
  async #endAppend(id: string): Promise<UploadState | undefined> {
    for (;;) {
      const state = await this.#stateOf(id);
      if (!state?.isOpen) return state;
      const body = Buffer.from(JSON.stringify(nothingSent));
      await putObject(this.#client, sealedOf(id, state.number), body, ifNone);
    }
  }

  async #stateOf(id: string): Promise<UploadState | undefined> {
    if (!isKey(id)) return undefined;
    const objects: ListedObject[] = [];
    for await (const some of listObjects(this.#client, folderOf(id))) objects.push(...some);
    const names = objects.map(({ name }) => name);
    if (!names.includes(descriptionOf(id))) return undefined;
    const sealed = names.filter((name) => name.startsWith(sealedOf(id))).sort();
    const open = names.filter((name) => name.startsWith(openOf(id)));
    const number = Math.max(0, ...open.map(numberIn), ...sealed.map(numberIn));
    const pieces = await Promise.all(sealed.map((name) => this.#pieceOf(name)));
    const isOpen = number > 0 && !sealed.includes(sealedOf(id, number));
    const end = isOpen ? undefined : pieces.at(-1)?.end;
    return { objects, number, isOpen, end, pieces: pieces.filter(({ size }) => size > 0) };
  }

  async #pieceOf(name: string): Promise<UploadPiece> {
    const text = await readText(this.#client, name);
    return text === undefined ? nothingSent : (JSON.parse(text) as UploadPiece);
  }

  /** `known` is the description that the upload began with. */
  async #read(
    id: string,
    { objects, pieces, end }: UploadState,
    known?: string,
  ): Promise<PartialUpload | undefined> {
    const isChanged = objects.some(({ name }) => name === changedOf(id));
    const name = isChanged ? changedOf(id) : descriptionOf(id);
    const description = (isChanged ? undefined : known) ?? (await readText(this.#client, name));
    if (description === undefined || end === "cancelled") return undefined;
    const changedAt = Date.now() - Math.min(...objects.map(({ ageMs }) => ageMs));
    const more = { pieces: pieces.length, changedAt, isFinished: false };
    return { description, size: sizeOf(pieces), ...more };
  }
}

interface AppendRequest {
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
