// A client that writes files in every way, loses connections, and knows which states are possible.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { passTurns } from "../turns-of.ts";
import { type Answer, answerOf } from "./expect.ts";
import { file, form, type Piece, type Shown, text } from "./multipart.ts";
import { type Effect, type Known, PossibleStates, type State, textOf } from "./possible-states.ts";
import type { ServerProcess } from "./server-process.ts";
import { at, last, more, partial, sendPart } from "./upload-client.ts";

type Fields = Readonly<Record<string, string>>;

const collection = "things";
const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A running server. `isEnding` is set before it is stopped or killed. */
export interface Daemon extends ServerProcess {
  isEnding: boolean;
}

/** The server has ended, so the client waits for the next one. */
export class Gone extends Error {}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Fields;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly states: PossibleStates;
  readonly effect: Effect;
}

/** A resumable upload, as far as its client knows it. */
interface Unfinished extends Sent {
  readonly upload: string;
  /** What the server has acknowledged. */
  offset: number;
  /** Whether its client has given it up. */
  isAbandoned: boolean;
  /** Whether nobody knows if the upload was completed. */
  isUncertain: boolean;
}

interface Seen {
  readonly state: Known;
  readonly tag: string;
  readonly members: Readonly<Record<string, unknown>>;
}

export class RandomUploader {
  readonly #name: string;
  readonly #random: () => number;
  /** By the path of the resource. Only this client writes it. */
  readonly #resources: ReadonlyMap<string, PossibleStates>;
  /** By what identifies a resource that was posted: its step, or the hash of its file. */
  readonly #posted = new Map<string, PossibleStates>();
  #unfinished: Unfinished[] = [];
  #steps = 0;

  constructor(name: string, random: () => number) {
    this.#name = name;
    this.#random = random;
    const paths = ["a", "b"].map((each) => `/${collection}/${name}-${each}`);
    this.#resources = new Map(paths.map((path) => [path, new PossibleStates()]));
  }

  /** Goes on until the server is gone, or so many steps are done. */
  async run(daemon: Daemon, steps: number, onStep: () => void): Promise<void> {
    try {
      for (const each of this.#unfinished.splice(0)) await this.#resume(daemon, each);
      for (let step = 0; step < steps; step++) {
        await this.#step(daemon);
        onStep();
      }
    } catch (thrown) {
      if (!(thrown instanceof Gone)) throw thrown;
    }
  }

  /** The server has ended: nothing is under way. */
  freeze(): void {
    for (const states of [...this.#resources.values(), ...this.#posted.values()]) states.freeze();
  }

  /** Compares all resources of this client, by their paths and by what identifies them, with what is possible. */
  compare(byPath: ReadonlyMap<string, State>, byMark: ReadonlyMap<string, State>): void {
    for (const [path, states] of this.#resources) states.observe(byPath.get(path) ?? null);
    for (const [mark, states] of this.#posted) states.observe(byMark.get(mark) ?? null);
  }

  owns = (path: string, mark: string): boolean =>
    this.#resources.has(path) || this.#posted.has(mark);

  async #step(daemon: Daemon): Promise<void> {
    const [path, states] = this.#pick([...this.#resources]);
    const seen = await this.#observe(daemon, path, states);
    const sent = this.#isOneIn(6) ? this.#post() : this.#write(path, states, seen);
    const way = this.#random();
    if (way < 0.25) await this.#cut(daemon, sent);
    else if (way < 0.55 && sent.body.length > 0) await this.#begin(daemon, sent);
    else await this.#send(daemon, sent);
  }

  /** Reads a resource and one of its files. */
  async #observe(daemon: Daemon, path: string, states: PossibleStates): Promise<Seen> {
    const { status, headers, body } = await this.#ask(daemon, "GET", path);
    const members = status === 404 ? {} : JSON.parse(body);
    const state = status === 404 ? null : stateIn(members);
    states.observe(state);
    const slots = Object.keys(state?.files ?? {});
    if (slots.length > 0) await this.#download(daemon, `${path}/${this.#pick(slots)}`);
    return { state, tag: headers.get("etag") ?? "", members };
  }

  /** A request without a known end can replace the file meanwhile. What is sent is complete in any case. */
  async #download(daemon: Daemon, path: string): Promise<void> {
    const response = await this.#lost(daemon, daemon.request(path));
    if (response.status === 404) return;
    const bytes = new Uint8Array(await this.#lost(daemon, response.arrayBuffer()));
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get("etag"), `"${hashOf(bytes)}"`, path);
  }

  #write(path: string, states: PossibleStates, { state, tag, members }: Seen): Sent {
    const given = { path, states };
    if (state === null) return { ...given, ...this.#put(null, { "if-none-match": "*" }, {}) };
    const kind = this.#random();
    const slots = Object.keys(state.files);
    if (kind < 0.35) return { ...given, ...this.#putFile(path, state) };
    if (kind < 0.5 && slots.length > 0) return { ...given, ...this.#deleteFile(path, state) };
    if (kind < 0.55) {
      const effect = only(state, null);
      return { ...given, method: "DELETE", headers: { "if-match": tag }, body: empty, effect };
    }
    if (kind < 0.8) return { ...given, ...this.#patch(state, { "if-match": tag }) };
    return { ...given, ...this.#put(state, { "if-match": tag }, members) };
  }

  #putFile(path: string, { files }: State) {
    const numbers = numbersIn(files);
    const slot = this.#pick([
      "photo",
      "cv",
      `docs.${Math.max(0, ...numbers) + 1}`,
      ...Object.keys(files),
    ]);
    const body = this.#bytes();
    const sha256 = hashOf(body);
    const former = files[slot];
    const condition: Fields =
      former === undefined ? { "if-none-match": "*" } : { "if-match": `"${former}"` };
    const effect: Effect = (state) => {
      if (state === null || state.files[slot] !== former) return undefined;
      const isNext = (numberOf(slot) ?? 0) <= Math.max(0, ...numbersIn(state.files)) + 1;
      return isNext ? { ...state, files: { ...state.files, [slot]: sha256 } } : undefined;
    };
    const headers = { ...condition, "content-type": "image/png" };
    return { method: "PUT", path: `${path}/${slot}`, headers, body, effect };
  }

  #deleteFile(path: string, { files }: State) {
    const [slot, sha256] = this.#pick(Object.entries(files));
    const effect: Effect = (state) => {
      if (state?.files[slot] !== sha256) return undefined;
      const { [slot]: _, ...others } = state.files;
      return { ...state, files: others };
    };
    const headers = { "if-match": `"${sha256}"` };
    return { method: "DELETE", path: `${path}/${slot}`, headers, body: empty, effect };
  }

  #patch(state: State, condition: Fields) {
    const { step, pieces, files } = this.#form();
    const members = new Set(Object.keys(files).map(memberOf));
    const kept = Object.entries(state.files).filter(([slot]) => !members.has(memberOf(slot)));
    const gone = this.#isOneIn(3) ? kept.map(([slot]) => memberOf(slot))[0] : undefined;
    const fields = gone === undefined ? text("step", step) : dataOf({ step, [gone]: null });
    const left = kept.filter(([slot]) => memberOf(slot) !== gone);
    const { headers, body } = form([fields, ...pieces], step);
    const effect = only(state, { step, files: { ...Object.fromEntries(left), ...files } });
    return { method: "PATCH", headers: { ...headers, ...condition }, body, effect };
  }

  /** Keeps at most one of the files, by its description. */
  #put(state: Known, condition: Fields, members: Seen["members"]) {
    const { step, pieces, files } = this.#form();
    const sent = new Set(Object.keys(files).map(memberOf));
    const single = Object.entries(state?.files ?? {}).filter(
      ([slot]) => numberOf(slot) === undefined && !sent.has(slot),
    );
    const kept = single.slice(0, this.#isOneIn(2) ? 1 : 0);
    const data = dataOf({
      step,
      ...Object.fromEntries(kept.map(([slot]) => [slot, members[slot]])),
    });
    const { headers, body } = form([data, ...pieces], step);
    const effect = only(state, { step, files: { ...Object.fromEntries(kept), ...files } });
    return { method: "PUT", headers: { ...headers, ...condition }, body, effect };
  }

  #post(): Sent {
    const states = new PossibleStates();
    const target = { method: "POST", path: `/${collection}`, states };
    if (this.#isOneIn(2)) {
      const body = this.#bytes();
      const sha256 = hashOf(body);
      this.#posted.set(sha256, states);
      const effect = only(null, { step: undefined, files: { file: sha256 } });
      return { ...target, headers: { "content-type": "image/png" }, body, effect };
    }
    const { step, pieces, files } = this.#form();
    this.#posted.set(step, states);
    return {
      ...target,
      ...form([text("step", step), ...pieces], step),
      effect: only(null, { step, files }),
    };
  }

  /** A step of its own, and files in some members; `docs` is a list. */
  #form() {
    const step = `${this.#name}.${++this.#steps}`;
    const slots = [["photo"], ["cv"], ["docs.1", "docs.2"]].filter(() => this.#isOneIn(2)).flat();
    const contents = slots.map((slot) => [slot, this.#bytes()] as const);
    return {
      step,
      pieces: contents.map(([slot, bytes]) => file(memberOf(slot), `${slot}.bin`, bytes)),
      files: Object.fromEntries(contents.map(([slot, bytes]) => [slot, hashOf(bytes)])),
    };
  }

  async #send(daemon: Daemon, sent: Sent): Promise<void> {
    try {
      const { method, path, headers, body } = sent;
      settle(sent, await this.#ask(daemon, method, path, headers, body));
    } catch (thrown) {
      if (thrown instanceof Gone) sent.states.begin(sent.effect);
      throw thrown;
    }
  }

  /** What was not sent to its end must never be carried out. */
  async #cut(daemon: Daemon, sent: Sent): Promise<void> {
    const length = this.#isOneIn(4) ? sent.body.length : this.#below(sent.body.length);
    if (length === sent.body.length) sent.states.begin(sent.effect);
    await this.#sendPart(daemon, sent, length);
  }

  async #sendPart(
    daemon: Daemon,
    sent: Omit<Sent, "states" | "effect">,
    length: number,
  ): Promise<void> {
    const { method, path, headers, body } = sent;
    const fields = {
      ...headers,
      ...{ authorization: `Bearer ${daemon.secret}`, "content-length": String(body.length) },
    };
    const part = body.subarray(0, length);
    const wire = await this.#lost(daemon, sendPart(daemon.port, [method, path], fields, part));
    // Some of it arrives before the end of the connection.
    await passTurns(this.#below(15));
    wire[this.#isOneIn(2) ? "reset" : "destroy"]();
  }

  async #begin(daemon: Daemon, sent: Sent): Promise<void> {
    const { method, path, headers, body } = sent;
    const first = body.subarray(0, this.#below(body.length));
    const answer = await this.#ask(daemon, method, path, { ...headers, ...more }, first);
    assert.equal(answer.status, 201, answer.body);
    const upload = answer.headers.get("location") ?? "";
    const known = { upload, offset: first.length, isAbandoned: false, isUncertain: false };
    await this.#resume(daemon, { ...sent, ...known });
  }

  /** Continues an upload to its end, unless it is abandoned or the server ends. */
  async #resume(daemon: Daemon, unfinished: Unfinished): Promise<void> {
    try {
      while (await this.#append(daemon, unfinished));
    } catch (thrown) {
      if (thrown instanceof Gone && !unfinished.isAbandoned) this.#unfinished.push(unfinished);
      throw thrown;
    }
  }

  /** Returns whether the upload goes on. */
  async #append(daemon: Daemon, unfinished: Unfinished): Promise<boolean> {
    const { upload, body } = unfinished;
    if (this.#isOneIn(12)) {
      unfinished.isAbandoned = true;
      if (this.#isOneIn(2)) await this.#ask(daemon, "DELETE", upload);
      return false;
    }
    if (await this.#isComplete(daemon, unfinished)) return false;
    const { offset } = unfinished;
    const end = this.#isOneIn(2) ? body.length : offset + this.#below(body.length - offset);
    const isLast = end === body.length;
    const headers = { ...partial, ...at(offset), ...(isLast ? last : more) };
    const piece = body.subarray(offset, end);
    if (this.#isOneIn(3)) {
      const length = this.#below(piece.length + 1);
      const isWhole = isLast && length === piece.length;
      if (isWhole) this.#doubt(unfinished);
      await this.#sendPart(daemon, { method: "PATCH", path: upload, headers, body: piece }, length);
      return true;
    }
    const answer = await this.#askPiece(daemon, unfinished, headers, piece, isLast);
    const isComplete = answer.headers.get("upload-complete") === "?1";
    assert.ok(isLast || !isComplete, "only the last piece completes the upload");
    // A request whose connection was cut may arrive late, is completing the upload now, or has done so.
    const late = unfinished.isUncertain ? [409, 400] : [409];
    assert.ok(isComplete || [204, ...late].includes(answer.status), answer.body);
    if (answer.status === 204 && !isLast) unfinished.offset = end;
    return !isComplete;
  }

  /** The answer to the last piece is that of the whole request. */
  async #askPiece(
    daemon: Daemon,
    unfinished: Unfinished,
    headers: Fields,
    piece: Uint8Array<ArrayBuffer>,
    isLast: boolean,
  ): Promise<Answer> {
    // An earlier attempt may have done it, or may be doing it now.
    const { isUncertain } = unfinished;
    if (isLast && isUncertain) this.#doubt(unfinished);
    try {
      const answer = await this.#ask(daemon, "PATCH", unfinished.upload, headers, piece);
      const isComplete = answer.headers.get("upload-complete") === "?1";
      if (isComplete && !isUncertain) settle(unfinished, answer);
      return answer;
    } catch (thrown) {
      if (isLast && thrown instanceof Gone) this.#doubt(unfinished);
      throw thrown;
    }
  }

  #doubt(unfinished: Unfinished): void {
    unfinished.isUncertain = true;
    unfinished.states.begin(unfinished.effect);
  }

  /** Learns the offset. What was acknowledged is still there. */
  async #isComplete(daemon: Daemon, unfinished: Unfinished): Promise<boolean> {
    const { status, headers } = await this.#ask(daemon, "HEAD", unfinished.upload);
    assert.equal(status, 204, unfinished.upload);
    if (headers.get("upload-complete") === "?1") {
      assert.ok(unfinished.isUncertain, "nobody has completed it");
      return true;
    }
    const offset = Number(headers.get("upload-offset"));
    assert.ok(offset >= unfinished.offset, `${offset} is less than ${unfinished.offset}`);
    assert.ok(offset <= unfinished.body.length, `${offset} is too much`);
    unfinished.offset = offset;
    return false;
  }

  async #ask(
    daemon: Daemon,
    method: string,
    path: string,
    headers: Fields = {},
    body: Uint8Array<ArrayBuffer> = empty,
  ): Promise<Answer> {
    const init = method === "GET" || method === "HEAD" ? { method } : { method, headers, body };
    const answer = await this.#lost(daemon, answerOf(daemon.request(path, init)));
    if (answer.status >= 500 && daemon.isEnding) throw new Gone();
    assert.ok(answer.status < 500, await this.#logged(daemon, answer));
    return answer;
  }

  /** What the server has logged about a failure, a little later. */
  async #logged(daemon: Daemon, { status, headers }: Answer): Promise<string> {
    if (status < 500) return "";
    await sleep(500);
    const id = headers.get("x-request-id") ?? "";
    const lines = daemon.log().split("\n");
    return lines.filter((line) => line.includes(id)).join("\n");
  }

  /** Only a server that ends loses a connection. */
  async #lost<T>(daemon: Daemon, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (thrown) {
      if (daemon.isEnding) throw new Gone();
      throw thrown;
    }
  }

  #bytes(): Uint8Array<ArrayBuffer> {
    const length = this.#pick([1, 100, 5_000, 70_000, 200_000]);
    const bytes = new Uint8Array(length + 8);
    for (let index = 0; index < bytes.length; index += 1 + (index >> 6))
      bytes[index] = this.#below(256);
    // No two are equal.
    new DataView(bytes.buffer).setUint32(0, ++this.#steps);
    bytes.set(Buffer.from(this.#name).subarray(0, 4), 4);
    return bytes;
  }

  #below = (limit: number): number => Math.floor(this.#random() * limit);
  #isOneIn = (several: number): boolean => this.#below(several) === 0;
  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }
}

function settle({ states, effect }: Pick<Sent, "states" | "effect">, answer: Answer): void {
  const isDone = answer.status < 300;
  assert.ok(isDone || [404, 409, 412].includes(answer.status), `${answer.status} ${answer.body}`);
  states[isDone ? "acknowledge" : "reject"](effect);
}

/** The effect of a request that names the whole state in its precondition. */
const only =
  (before: Known, after: Known): Effect =>
  (state) =>
    textOf(state) === textOf(before) ? after : undefined;

const empty = new Uint8Array();
const memberOf = (slot: string): string => slot.split(".", 1)[0] ?? "";
const numberOf = (slot: string): number | undefined =>
  slot.includes(".") ? Number(slot.split(".")[1]) : undefined;
const numbersIn = (files: State["files"]): readonly number[] =>
  Object.keys(files).flatMap((slot) => numberOf(slot) ?? []);

const dataOf = (fields: unknown): Piece => ({
  head: ['Content-Disposition: form-data; name="data"', "Content-Type: application/json"],
  bytes: JSON.stringify(fields),
});

/** The state that a representation shows. */
export function stateIn(members: Readonly<Record<string, unknown>>): State {
  const shown = Object.values(members).flat().filter(isShown);
  const files = shown.map(({ url, sha256 }) => [url.split("/").at(-1) ?? "", sha256] as const);
  return { step: members.step as string | undefined, files: Object.fromEntries(files) };
}

const isShown = (value: unknown): value is Shown =>
  typeof value === "object" && value !== null && "sha256" in value;

/** What identifies a resource that was posted. */
export const markOf = ({ step, files }: State): string => step ?? files.file ?? "";
