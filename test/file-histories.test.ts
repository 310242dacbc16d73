// Files through every command: changed, backed up, restored, copied, exported, imported, erased and examined at random.

import assert from "node:assert/strict";
import { readFile, utimes } from "node:fs/promises";
import { basename } from "node:path";
import { after, before, describe, it } from "node:test";
import { exportFolder } from "../src/cli/export-folder.ts";
import { importFolder } from "../src/cli/import-folder.ts";
import { ImportReport } from "../src/cli/import-report.ts";
import { Progress } from "../src/cli/progress.ts";
import { localUrl } from "../src/cli/system-request.ts";
import { system } from "../src/model/principal.ts";
import { Problem } from "../src/model/problem.ts";
import { type App, assemble } from "../src/server/app.ts";
import type { Config } from "../src/server/config.ts";
import { copy } from "../src/server/copies.ts";
import { examine } from "../src/server/doctor.ts";
import { createLog } from "../src/server/log.ts";
import { filesFolder, openFiles } from "../src/server/open-files.ts";
import { noTrack, Place } from "./backup/stores.ts";
import { file, filesIn, form, hashOf, type Shown } from "./http/multipart.ts";
import { PostgresServer } from "./postgres-server.ts";
import { isLong, newSeed, randomNumbers, runs, within } from "./seeds.ts";
import { bucket, S3Server, secrets } from "./store/s3/s3-server.ts";

let s3: S3Server;
let postgres: Promise<PostgresServer> | undefined;
before(async () => {
  s3 = await S3Server.start();
  Object.assign(process.env, secrets);
});
after(async () => {
  await s3.destroy();
  await (await postgres)?.close();
});

const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};

/** What a resource shows, by the name of the member. */
interface Note {
  readonly owner: string | null;
  /** The hashes of its files by their slots. */
  readonly files: Readonly<Record<string, string>>;
  /** What describes files that an import did not find, in the same way. */
  readonly descriptions: Readonly<Record<string, string>>;
}

type Notes = ReadonlyMap<string, Note>;

const dayMs = 86_400_000;
const memberOf = (slot: string): string => slot.split(".", 1)[0] ?? "";
const silent = () => new Progress({ output: { write: () => undefined }, isJson: true });
class FileHistory {
  readonly #place: Place;
  readonly #random: () => number;
  #config: Config;
  #app: App;
  #notes = new Map<string, Note>();
  #count = 0;
  /** A folder of backups is of one line of states. */
  #backups: { to: string; made: { at: number; notes: Notes }[] };
  #exports: { path: string; notes: Notes }[] = [];

  private constructor(place: Place, random: () => number, config: Config, app: App) {
    this.#place = place;
    this.#random = random;
    this.#config = config;
    this.#app = app;
    this.#backups = { to: this.#newBackups(), made: [] };
  }

  static async begin(place: Place, random: () => number): Promise<FileHistory> {
    const config = await place.config("sqlite");
    const history = new FileHistory(place, random, config, await open(config));
    await history.#ask("PUT", "/-/collections/notes", { access: { read: "owner" } });
    return history;
  }

  close = (): Promise<void> => this.#app.close();

  /** Returns what it does. */
  async step(): Promise<string> {
    const steps: readonly (readonly [weight: number, name: string, act: () => Promise<void>])[] = [
      [6, "write a resource", () => this.#write()],
      [8, "put a file", () => this.#putFile()],
      [3, "remove a file", () => this.#removeFile()],
      [2, "delete a resource", () => this.#delete()],
      [3, "back up", () => this.#backUp()],
      [2, "restore", () => this.#restore()],
      [1, "restore over", () => this.#restoreOver()],
      [2, "copy", () => this.#copy()],
      [1, "export", () => this.#export()],
      [1, "import", () => this.#import()],
      [1, "erase", () => this.#erase()],
      [1, "leave a file without a row", () => this.#orphan()],
      [1, "restart", () => this.#reopen(this.#config)],
    ];
    const [, name, act] = this.#pick(steps.flatMap((step) => Array(step[0]).fill(step)));
    await act();
    await compare(this.#app, this.#notes);
    return name;
  }

  /** Nothing is wrong, and nothing but the files is stored after a sweep. */
  async check(): Promise<void> {
    const { findings } = await examine(this.#config, { isQuick: false, track: noTrack });
    assert.deepEqual(
      findings.filter(({ state }) => state === "error"),
      [],
    );
    await this.#app.close();
    await age(this.#config);
    this.#app = await open(this.#config);
    await this.#app.sweep();
    await compare(this.#app, this.#notes);
    const stored = await Promise.all((await storedIn(this.#config)).map((path) => readFile(path)));
    const expected = [...this.#notes.values()].flatMap(({ files }) => Object.values(files));
    assert.deepEqual(stored.map(hashOf).sort(), expected.sort());
  }

  /** Replaces all of it. */
  async #write(): Promise<void> {
    const id = this.#pick(["a", "b", "c", "d", "e"]);
    const slots = [["photo"], ["docs.1", "docs.2"]].filter(() => this.#isOneIn(2)).flat();
    const contents = slots.map((slot) => [slot, this.#bytes()] as const);
    const pieces = contents.map(([slot, bytes]) => file(memberOf(slot), "a.bin", bytes));
    const data = file("data", "", "{}");
    const head = ['Content-Disposition: form-data; name="data"', "Content-Type: application/json"];
    const { headers, body } = form([{ ...data, head }, ...pieces]);
    await this.#send("PUT", `/notes/${id}`, headers, body);
    const owner = this.#pick(["ann", "bob", null]);
    await this.#ask("PATCH", `/notes/${id}`, { _owner: owner });
    const files = Object.fromEntries(contents.map(([slot, bytes]) => [slot, hashOf(bytes)]));
    this.#notes.set(id, { owner, files, descriptions: {} });
  }

  async #putFile(): Promise<void> {
    const [id, note] = this.#any();
    if (note === undefined) return;
    const numbers = Object.keys(note.files).flatMap((slot) => Number(slot.split(".")[1] ?? []));
    const next = `docs.${Math.max(0, ...numbers) + 1}`;
    const slot = this.#pick(["photo", next, ...Object.keys(note.files)]);
    const bytes = this.#bytes();
    const isTaken = Object.keys(note.descriptions).map(memberOf).includes(memberOf(slot));
    const type = { "content-type": "application/octet-stream" };
    const path = `/notes/${id}/${slot}`;
    await this.#send("PUT", path, type, bytes, isTaken ? 409 : undefined);
    if (isTaken) return;
    this.#notes.set(id, { ...note, files: { ...note.files, [slot]: hashOf(bytes) } });
  }

  async #removeFile(): Promise<void> {
    const [id, note] = this.#any();
    const slot = note && this.#pick(Object.keys(note.files));
    if (note === undefined || slot === undefined) return;
    await this.#send("DELETE", `/notes/${id}/${slot}`);
    const { [slot]: _, ...files } = note.files;
    this.#notes.set(id, { ...note, files });
  }

  async #delete(): Promise<void> {
    const [id, note] = this.#any();
    if (note === undefined) return;
    await this.#send("DELETE", `/notes/${id}`);
    this.#notes.delete(id);
  }

  /** The second one in the same place is incremental. */
  async #backUp(): Promise<void> {
    const keepMs = this.#isOneIn(4) ? 0 : undefined;
    const { record, lost } = await this.#place.backUp(this.#config, this.#backups.to, keepMs);
    assert.deepEqual(lost, []);
    const made = { at: Date.parse(record.createdAt), notes: new Map(this.#notes) };
    assert.equal(record.files, [...this.#notes.values()].flatMap(slotsOf).length);
    this.#backups.made = keepMs === 0 ? [made] : [...this.#backups.made, made];
  }

  /** To another place, with which it goes on now and then. */
  async #restore(): Promise<void> {
    const backup = this.#pick(this.#backups.made);
    if (backup === undefined) return;
    const config = await this.#newConfig();
    await this.#place.restore(config, { at: backup.at }, this.#backups.to);
    const app = await open(config);
    await compare(app, backup.notes);
    await app.close();
    if (this.#isOneIn(2)) return this.#goBack(config, backup.notes);
    const stored = await storedIn(config);
    assert.equal(stored.length, [...backup.notes.values()].flatMap(slotsOf).length);
  }

  /** Files that came after the backup are left without a row. */
  async #restoreOver(): Promise<void> {
    const backup = this.#pick(this.#backups.made);
    if (backup === undefined) return;
    await this.#app.close();
    const options = { at: backup.at, isOverwriting: true };
    await this.#place.restore(this.#config, options, this.#backups.to);
    this.#app = await open(this.#config);
    this.#notes = new Map(backup.notes);
  }

  async #goBack(config: Config, notes: Notes): Promise<void> {
    await this.#reopen(config);
    this.#notes = new Map(notes);
    this.#backups = { to: this.#newBackups(), made: [] };
  }

  /** From disk to S3 or back, and goes on with the copy. */
  async #copy(): Promise<void> {
    const to = await this.#newConfig();
    const places = { from: withFiles(this.#config), to: withFiles(to) };
    const { lost } = await copy({ ...places, track: noTrack, onHold: () => undefined });
    assert.deepEqual(lost, []);
    await this.#reopen(to);
  }

  async #export(): Promise<void> {
    const path = this.#place.path(`export-${++this.#count}`);
    await exportFolder(this.#app, { to: path, format: "ndjson" }, silent());
    this.#exports.push({ path, notes: new Map(this.#notes) });
  }

  /**
   * Replaces the resources of the export. A file is kept where it still has the bytes that are described, and
   * a description of another file is rejected.
   */
  async #import(): Promise<void> {
    const exported = this.#pick(this.#exports);
    if (exported === undefined) return;
    const report = new ImportReport(silent(), true);
    await importFolder(this.#app, exported.path, undefined, report);
    const rejected: string[] = [];
    for (const [id, note] of exported.notes) {
      const after = imported(note, this.#notes.get(id));
      if (after === undefined) rejected.push(id);
      else this.#notes.set(id, after);
    }
    const { imports, errors } = report.toJSON();
    const count = imports.reduce((sum, each) => sum + each.rejected, 0);
    assert.equal(count, rejected.length, JSON.stringify({ errors, rejected }));
    for (const { detail } of errors) assert.match(detail, /describes a stored file/);
  }

  /** No byte of the subject is left, also without a sweep. */
  async #erase(): Promise<void> {
    const subject = this.#pick(["ann", "bob"]);
    const erased = [...this.#notes].filter(([, { owner }]) => owner === subject);
    const report = await this.#app.erasures.erase(system, { targets: [], subject, isTrial: false });
    assert.ok(!(report instanceof Problem), JSON.stringify(report));
    assert.equal(report.files, erased.flatMap(([, note]) => slotsOf(note)).length);
    for (const [id] of erased) this.#notes.delete(id);
    const stored = await Promise.all((await storedIn(this.#config)).map((path) => readFile(path)));
    const left = new Set(stored.map(hashOf));
    for (const hash of erased.flatMap(([, { files }]) => Object.values(files)))
      assert.ok(!left.has(hash), "an erased file is left");
  }

  /** As a process that is killed before its commit. */
  async #orphan(): Promise<void> {
    const bytes = this.#bytes();
    const source = (async function* () {
      yield bytes;
    })();
    await openFiles(this.#config).save(source, Number.POSITIVE_INFINITY);
  }

  async #reopen(config: Config): Promise<void> {
    await this.#app.close();
    this.#config = config;
    this.#app = await open(config);
  }

  async #newConfig(): Promise<Config> {
    const engine = isLong && this.#isOneIn(3) ? "postgres" : "sqlite";
    const config = await this.#place.config(engine);
    return this.#isOneIn(2) ? config : { ...config, files: s3.url(this.#newPrefix()) };
  }

  /** Of this history alone. */
  #newPrefix = (): string => `${basename(this.#place.folder)}/${++this.#count}/`;

  #newBackups = (): string =>
    this.#isOneIn(2) ? this.#place.path(`backups-${++this.#count}`) : s3.url(this.#newPrefix());

  #ask = (method: string, path: string, body: unknown): Promise<void> =>
    this.#send(
      method,
      path,
      { "content-type": "application/json" },
      Buffer.from(JSON.stringify(body)),
    );

  async #send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body: Uint8Array<ArrayBuffer> | null = null,
    expected?: number,
  ): Promise<void> {
    const length = { "content-length": String(body?.byteLength ?? 0) };
    const init = { method, headers: { ...headers, ...length }, body };
    const response = await this.#app.systemFetch(new Request(localUrl(path), init));
    const answer = `${method} ${path}: ${response.status} ${await response.text()}`;
    assert.ok(expected === undefined ? response.ok : response.status === expected, answer);
  }

  #any = (): readonly [id: string, note: Note | undefined] =>
    this.#pick([...this.#notes]) ?? ["", undefined];

  /** No two are equal. */
  #bytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#pick([4, 100, 70_000]) ?? 4).fill(this.#below(256));
    new DataView(bytes.buffer).setUint32(0, ++this.#count);
    return bytes;
  }

  #below = (limit: number): number => Math.floor(this.#random() * limit);
  #isOneIn = (several: number): boolean => this.#below(several) === 0;
  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }
}

const slotsOf = ({ files }: Note): readonly string[] => Object.keys(files);

/** A resource after the import of a former state of it; undefined when it is rejected. */
function imported({ owner, ...former }: Note, current: Note | undefined): Note | undefined {
  const shown = Object.entries({ ...former.files, ...former.descriptions });
  const stored = Object.entries(current?.files ?? {});
  const files: Record<string, string> = {};
  const descriptions: Record<string, string> = {};
  for (const member of ["photo", "docs"]) {
    const isHere = ([slot]: readonly [string, string]) => memberOf(slot) === member;
    const [items, there] = [shown.filter(isHere), stored.filter(isHere)];
    const hashes = items.map(([, hash]) => hash);
    const same = there.filter(([, hash]) => hashes.includes(hash));
    const isKept = same.length === items.length;
    const lost = isKept ? there.filter((one) => !same.includes(one)) : there;
    const isStale = items.some(([slot, hash]) =>
      lost.some((one) => one[0] === slot || one[1] === hash),
    );
    if (isStale) return undefined;
    Object.assign(isKept ? files : descriptions, Object.fromEntries(isKept ? same : items));
  }
  return { owner, files, descriptions };
}

const open = (config: Config): Promise<App> =>
  assemble({ ...config, logLevel: "silent" }, createLog("silent"));

/** A copy to Postgres must know where the files are. */
const withFiles = (config: Config): Config =>
  config.store === undefined ? config : { ...config, files: config.files ?? filesFolder(config) };

/** Every resource is as it was written, and every file has its bytes. */
async function compare(app: App, notes: Notes): Promise<void> {
  const get = (path: string, accept = "*/*") =>
    app.systemFetch(new Request(localUrl(path), { headers: { accept } }));
  const text = await (await get("/notes?fields=*,_owner", "application/x-ndjson")).text();
  const found = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  const shown = await Promise.all(found.map((each) => noteOf(each, get)));
  assert.deepEqual(
    new Map(shown.toSorted(([one], [other]) => (one < other ? -1 : 1))),
    new Map([...notes].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  );
}

async function noteOf(
  { id, _owner, ...rest }: Record<string, unknown>,
  get: (path: string) => Promise<Response>,
): Promise<readonly [string, Note]> {
  const files: Record<string, string> = {};
  const descriptions: Record<string, string> = {};
  for (const member of ["photo", "docs"]) {
    for (const { url, sha256 } of [rest[member] ?? []].flat() as unknown as Shown[]) {
      const response = await get(new URL(url, "http://localhost").pathname);
      const bytes = new Uint8Array(await response.arrayBuffer());
      const slot = url.split("/").at(-1) ?? "";
      if (response.status === 404) descriptions[slot] = sha256;
      else {
        assert.equal(hashOf(bytes), sha256, `${response.status} ${url}`);
        files[slot] = sha256;
      }
    }
  }
  return [String(id), { owner: (_owner as string | null) ?? null, files, descriptions }];
}

/** Makes everything old enough for a sweep. */
async function age(config: Config): Promise<void> {
  const old = new Date(Date.now() - 2 * dayMs);
  const folder = filesFolder(config);
  if (folder === undefined) for (const key of await keysIn(config)) await s3.age(key, 2 * dayMs);
  else for (const path of await filesIn(folder)) await utimes(path, old, old);
}

/** The objects below the prefix. */
const keysIn = (config: Config): Promise<readonly string[]> =>
  s3.keys(`${(config.files ?? "").slice(`s3://${bucket}/`.length).split("?")[0]}`);

/** The paths of all bytes that are stored. */
async function storedIn(config: Config): Promise<readonly string[]> {
  const folder = filesFolder(config);
  if (folder !== undefined) return filesIn(folder);
  const keys = (await keysIn(config)).filter((key) => !key.endsWith("/restante.json"));
  return keys.map((key) => s3.pathOf(key));
}

describe("files in random histories", () => {
  it("are there after every command, and nothing else is", within(1_800_000), async () => {
    const seed = newSeed("file histories");
    for (let round = 0; round < runs(1, 15); round++)
      await Place.run(server, async (place) => {
        const history = await FileHistory.begin(place, randomNumbers(seed + round));
        const done: string[] = [];
        try {
          for (let step = 0; step < runs(25, 60); step++) {
            done.push(await history.step());
            if (step % 12 === 11) await history.check();
          }
          await history.check();
        } catch (error) {
          console.error(`after ${done.join(", ")}, of the seed ${seed + round}`);
          throw error;
        } finally {
          await history.close();
        }
      });
  });
});
