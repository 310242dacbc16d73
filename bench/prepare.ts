// The data: filled before the measuring, big sets kept between runs in bench/.data.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newId } from "../src/model/id.ts";
import { openSqlite } from "../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../src/store/store.ts";
import { root } from "./processes.ts";
import { bar } from "./progress.ts";
import { person } from "./scenarios.ts";

/** Beside the repository and not in /tmp, which may be memory: durable must mean a real disk. */
export const dataFolder = join(root, "bench", ".data");

const collection = "people";
const batchSize = 10_000;

/** Opens a store of any engine. */
export type Open = () => Promise<Store>;

const folderStore =
  (path: string): Open =>
  async () => {
    await mkdir(path, { recursive: true });
    return openSqlite({ path });
  };

/** Fills a new store with people and returns their ids. */
export async function fill(open: Open, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, newId);
  await withStore(open, async (store) => {
    const at = Date.now();
    await store.commit([{ kind: "create-collection", collection, at }]);
    const changes = (id: string, index: number): Change => {
      const fields = JSON.stringify(person(index + 1));
      return { kind: "put", collection, id, fields, at, expect: "nothing" };
    };
    await commitAll(store, `filling ${count.toLocaleString("en")} resources`, ids, changes);
  });
  return ids;
}

export const fillFolder = (folder: string, count: number): Promise<readonly string[]> =>
  fill(folderStore(folder), count);

/** One collection for each of these, with its definition; and as many resources as it is given. */
export interface Ruled {
  readonly collection: string;
  readonly definition: object;
  readonly count: number;
  readonly fieldsOf: (number: number) => object;
}

export const fillRuled = (folder: string, all: readonly Ruled[]): Promise<void> =>
  withStore(folderStore(folder), async (store) => {
    const at = Date.now();
    for (const { collection, definition, count, fieldsOf } of all) {
      const rules = JSON.stringify(definition);
      await store.commit([{ kind: "define", collection, definition: rules, at }]);
      const ids = Array.from({ length: count }, newId);
      const label = `filling ${count.toLocaleString("en")} resources with rules`;
      await commitAll(store, label, ids, (id, index) => {
        const fields = JSON.stringify(fieldsOf(index + 1));
        return { kind: "put", collection, id, fields, at, expect: "nothing" };
      });
    }
  });

/** Removes the given share, taken at random, from every part of the collection. */
export async function thin(open: Open, share: number): Promise<void> {
  await withStore(open, async (store) => {
    const doomed = (await everyId(store)).filter(() => Math.random() < share);
    const at = Date.now();
    await commitAll(
      store,
      `removing ${doomed.length.toLocaleString("en")} resources`,
      doomed,
      (id) => ({
        kind: "remove",
        collection,
        id,
        at,
        expect: "anything",
      }),
    );
  });
}

async function everyId(store: Store): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const range = { offset: ids.length, limit: batchSize, order: "created" } as const;
    const found = (await store.slice(collection, range))?.resources ?? [];
    if (found.length === 0) return ids;
    for (const resource of found) ids.push(resource.id);
  }
}

async function commitAll(
  store: Store,
  label: string,
  ids: readonly string[],
  change: (id: string, index: number) => Change,
): Promise<void> {
  const show = bar(label, ids.length);
  for (let start = 0; start < ids.length; start += batchSize) {
    const batch = ids.slice(start, start + batchSize);
    await store.commit(batch.map((id, index) => change(id, start + index)));
    show(start + batch.length);
  }
}

async function withStore(open: Open, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await open();
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

export interface BigSets {
  readonly count: number;
  /** Folders that a server may change: copies of what is kept. */
  readonly full: string;
  readonly thinned: string;
}

/** `count` people, and the same after a tenth of them, at random, was removed. */
export async function bigSets(count: number, workFolder: string): Promise<BigSets> {
  const madeBy = await storeFingerprint("sqlite");
  const full = await kept(`full-${count}-${madeBy}`, (folder) => fillFolder(folder, count));
  const thinned = await kept(`thinned-${count}-${madeBy}`, async (folder) => {
    await cp(full, folder, { recursive: true });
    await thin(folderStore(folder), 0.1);
  });
  return { count, full: await copy(full, workFolder), thinned: await copy(thinned, workFolder) };
}

/** What is made once and kept between runs: a folder, which nobody may change. */
export async function kept(
  name: string,
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const folder = join(dataFolder, name);
  if (existsSync(folder)) return folder;
  await removeOlder(name);
  const partial = `${folder}.partial`;
  await make(partial);
  await rename(partial, folder);
  return folder;
}

/** What another state of the store made is of no use any more. */
async function removeOlder(name: string): Promise<void> {
  await mkdir(dataFolder, { recursive: true });
  const family = name.slice(0, name.lastIndexOf("-"));
  for (const entry of await readdir(dataFolder))
    if (entry.startsWith(`${family}-`))
      await rm(join(dataFolder, entry), { recursive: true, force: true });
}

async function copy(folder: string, into: string): Promise<string> {
  const target = join(into, basename(folder));
  await cp(folder, target, { recursive: true });
  return target;
}

/** Data is only measured by the code that made it. */
export async function storeFingerprint(engine: string, version = ""): Promise<string> {
  const folder = join(root, "src", "store", engine);
  const hash = createHash("sha256").update(version);
  for (const file of (await readdir(folder)).sort())
    hash.update(await readFile(join(folder, file)));
  return hash.digest("hex").slice(0, 12);
}

export async function fillJsonServer(file: string, count: number): Promise<void> {
  const people = Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    ...person(index + 1),
  }));
  await writeFile(file, JSON.stringify({ people, letters: [] }));
}

/** SQLite's defaults, which are durable; its driver's WAL would not wait for the disk. */
export function fillPlatformatic(file: string, count: number): void {
  const database = new DatabaseSync(file);
  for (const table of ["people", "letters"])
    database.exec(
      `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL)`,
    );
  const insert = database.prepare("INSERT INTO people (name, email) VALUES (?, ?)");
  database.exec("BEGIN");
  for (let number = 1; number <= count; number++) {
    const { name, email } = person(number);
    insert.run(name, email);
  }
  database.exec("COMMIT");
  database.close();
}
