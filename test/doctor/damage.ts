// Damages one row or one file of a store in a random way, behind its back.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import type { Config } from "../../src/server/config.ts";
import { filesFolder } from "../../src/server/open-files.ts";
import { openRebuilder } from "../../src/server/open-repair.ts";
import { checksumOf } from "../../src/store/core/stored-resource.ts";

/** What was damaged, and what the doctor must say. */
export interface Damage {
  readonly about: string;
  /** The check that finds it. */
  readonly check: string;
  readonly collection?: string | undefined;
  readonly resource?: string | undefined;
  readonly isRepairable: boolean;
}

type Value = string | number | null | Uint8Array;

/** Runs SQL with the same parameters on either engine. */
export type RunSql = (
  statement: string,
  ...values: readonly Value[]
) => Promise<readonly Record<string, Value>[]>;

export async function withSql<T>(config: Config, act: (run: RunSql) => Promise<T>): Promise<T> {
  if (config.store !== undefined) {
    const sql = postgres(config.store, { max: 1, connection: { search_path: "restante" } });
    const numbered = (text: string) => {
      let count = 0;
      return text.replace(/\?/g, () => `$${++count}`);
    };
    try {
      return await act(
        async (text, ...values) => (await sql.unsafe(numbered(text), [...values])) as never,
      );
    } finally {
      await sql.end();
    }
  }
  const database = new DatabaseSync(join(config.data, "restante.db"));
  try {
    return await act(async (text, ...values) => database.prepare(text).all(...values) as never);
  } finally {
    database.close();
  }
}

/** Chooses with random numbers. */
export class Chooser {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  one<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    assert.ok(item !== undefined);
    return item;
  }
}

interface Place {
  readonly config: Config;
  readonly run: RunSql;
  readonly choose: Chooser;
}

/** A row with the name of its collection and the path of its resource. */
interface Found {
  readonly row: Readonly<Record<string, Value>>;
  readonly collection: string;
  readonly resource: string | undefined;
}

async function pick({ run, choose }: Place, table: string): Promise<Found> {
  const rows = await run(`SELECT ${table}.*, name FROM ${table} JOIN collections USING (part)`);
  const row = choose.one(rows);
  const [owner] =
    row.seq === undefined || table === "heads"
      ? []
      : await run("SELECT id FROM resources WHERE part = ? AND seq = ?", part(row), seq(row));
  const collection = String(row.name);
  return { row, collection, resource: owner && `/${collection}/${owner.id}` };
}

const part = (row: Found["row"]): Value => row.part ?? null;
const seq = (row: Found["row"]): Value => row.seq ?? null;

const derived = (
  check: string,
  about: string,
  { collection, resource }: Partial<Found>,
): Damage => ({
  ...{ about, check, collection, resource },
  isRepairable: true,
});

const lost = (check: string, about: string, { collection, resource }: Partial<Found>): Damage => ({
  ...{ about, check, collection, resource },
  isRepairable: false,
});

const entryKey = "part = ? AND field = ? AND key = ? AND seq = ?";
const entryValues = ({ part: one, field, key, seq: two }: Found["row"]) =>
  [one, field, key, two].map((value) => value ?? null);
const wordKey = "part = ? AND word = ? AND rank = ? AND seq = ?";
const wordValues = ({ part: one, word, rank, seq: two }: Found["row"]) =>
  [one, word, rank, two].map((value) => value ?? null);

const headColumns = ["total", "bytes", "version"] as const;

/** Each damages one thing. */
export const damages: Readonly<Record<string, (place: Place) => Promise<Damage>>> = {
  async "change an entry"(place) {
    const found = await pick(place, "entries");
    await place.run(
      `UPDATE entries SET key = key || 'x' WHERE ${entryKey}`,
      ...entryValues(found.row),
    );
    return derived("indexes", "an entry has another key", found);
  },
  async "delete an entry"(place) {
    const found = await pick(place, "entries");
    await place.run(`DELETE FROM entries WHERE ${entryKey}`, ...entryValues(found.row));
    return derived("indexes", "an entry is gone", found);
  },
  async "add an entry"(place) {
    const found = await pick(place, "resources");
    const values = [part(found.row), place.choose.one(["name", "other"]), "zz", seq(found.row)];
    await place.run("INSERT INTO entries (part, field, key, seq) VALUES (?, ?, ?, ?)", ...values);
    return derived("indexes", "there is another entry", found);
  },
  async "add an entry of nobody"(place) {
    const found = await pick(place, "entries");
    await place.run(
      "INSERT INTO entries (part, field, key, seq) VALUES (?, ?, ?, ?)",
      ...[part(found.row), found.row.field ?? "", "zz", 999_999],
    );
    const { collection } = found;
    return derived("indexes", "there is an entry of no resource", { collection });
  },
  async "change a word"(place) {
    const found = await pick(place, "words");
    await place.run(`UPDATE words SET rank = rank + 1 WHERE ${wordKey}`, ...wordValues(found.row));
    return derived("search words", "a word has another rank", found);
  },
  async "delete a word"(place) {
    const found = await pick(place, "words");
    await place.run(`DELETE FROM words WHERE ${wordKey}`, ...wordValues(found.row));
    return derived("search words", "a word is gone", found);
  },
  async "add a word"(place) {
    const found = await pick(place, "resources");
    const values = [part(found.row), "zzzz", -1, seq(found.row)];
    await place.run("INSERT INTO words (part, word, rank, seq) VALUES (?, ?, ?, ?)", ...values);
    return derived("search words", "there is another word", found);
  },
  async "delete a file reference"(place) {
    const { row, collection } = await pick(place, "files");
    await place.run("DELETE FROM files WHERE part = ? AND key = ?", part(row), row.key ?? "");
    const owners = await place.run("SELECT id, files FROM resources WHERE part = ?", part(row));
    const owner = owners.find(({ files }) => String(files).includes(String(row.key)));
    const resource = `/${collection}/${owner?.id}`;
    return derived("file references", "a file reference is gone", { collection, resource });
  },
  async "add a file reference"(place) {
    const { row, collection } = await pick(place, "resources");
    const key = randomBytes(16).toString("hex");
    await place.run("INSERT INTO files (part, key, bytes) VALUES (?, ?, 0)", part(row), key);
    return derived("file references", "there is another file reference", { collection });
  },
  async "delete positions"(place) {
    const { row, collection } = await pick(place, "positions");
    const values = [part(row), row.level ?? 0, row.row ?? 0];
    await place.run('DELETE FROM positions WHERE part = ? AND level = ? AND "row" = ?', ...values);
    return derived("positions", "a row of positions is gone", { collection });
  },
  async "alter a head"(place) {
    const { row, collection } = await pick(place, "heads");
    const column = place.choose.one(headColumns);
    await place.run(`UPDATE heads SET ${column} = ${column} + 3 WHERE part = ?`, part(row));
    return derived("counts", `${column} of the head is higher`, { collection });
  },
  async "lower a head"(place) {
    const { row, collection } = await pick(place, "resources");
    const column = place.choose.one(["seq", "revision"]);
    await place.run(`UPDATE heads SET ${column} = 0 WHERE part = ?`, part(row));
    return derived("counts", `${column} of the head is 0`, { collection });
  },
  async "repeat a unique value"(place) {
    const where = "name = 'people'";
    const [one, other] = await place.run(
      `SELECT part, seq, id, fields FROM resources JOIN collections USING (part) WHERE ${where}`,
    );
    assert.ok(one && other);
    const { name } = JSON.parse(String(one.fields)) as { name: string };
    const fields = JSON.stringify({ ...JSON.parse(String(other.fields)), name });
    await replaceFields(place, other, fields);
    const resource = `/people/${other.id}`;
    return lost("unique values", "two have the same name", { collection: "people", resource });
  },
  async "change a resource"(place) {
    const found = await pick(place, "resources");
    const change = place.choose.one([
      `fields = replace(fields, '}', ',"x":1}')`,
      "updated = updated + 1",
      "owner = 'mallory'",
      "checksum = checksum + 1",
      "fields = substr(fields, 2)",
    ]);
    const values = [part(found.row), seq(found.row)];
    await place.run(`UPDATE resources SET ${change} WHERE part = ? AND seq = ?`, ...values);
    return lost("resources", `a resource has ${change}`, found);
  },
  async "delete a resource"(place) {
    const { row, collection } = await pick(place, "resources");
    const values = [part(row), seq(row)];
    await place.run("DELETE FROM resources WHERE part = ? AND seq = ?", ...values);
    return lost("counts", "a resource is gone", { collection });
  },
  async "delete a head"(place) {
    const { row } = await pick(place, "heads");
    await place.run("DELETE FROM heads WHERE part = ?", part(row));
    return lost("storage", "a head is gone", {});
  },
  async "delete a collection"(place) {
    const { row } = await pick(place, "heads");
    // A collection to which others refer would be missed by these as well.
    await place.run("DELETE FROM collections WHERE part = ?", part(row));
    return lost("storage", "the row of a collection is gone", {});
  },
  async "flip a byte of a file"(place) {
    const file = await pickFile(place);
    const bytes = await readFile(file.path);
    const index = place.choose.below(bytes.length);
    bytes[index] = (bytes[index] ?? 0) ^ (1 << place.choose.below(8));
    await writeFile(file.path, bytes);
    return lost("files", "a byte of a file is another one", file);
  },
  async "cut a file"(place) {
    const file = await pickFile(place);
    await writeFile(file.path, (await readFile(file.path)).subarray(1));
    return lost("files", "a file is shorter", file);
  },
  async "delete a file"(place) {
    const file = await pickFile(place);
    await rm(file.path);
    return lost("files", "a file is gone", file);
  },
  async "add an orphan"({ config }) {
    const key = randomBytes(16).toString("hex");
    const folder = join(filesFolder(config) ?? "", key.slice(0, 2));
    await mkdir(folder, { recursive: true });
    const path = join(folder, key.slice(2));
    await writeFile(path, "nobody's");
    const old = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000);
    await utimes(path, old, old);
    return derived("orphaned files", "there is a file of no resource", {});
  },
};

/** Writes a resource as the store does, with its checksum and its entries. */
async function replaceFields({ config, run }: Place, row: Found["row"], fields: string) {
  const columns = "id, revision, created, updated, fields, owner, files, shares_date";
  const where = "WHERE part = ? AND seq = ?";
  const key = [part(row), seq(row)];
  const [stored] = await run(`SELECT ${columns} FROM resources ${where}`, ...key);
  assert.ok(stored);
  const values = columns.split(", ").map((name) => {
    const value = name === "fields" ? fields : (stored[name] ?? null);
    return typeof value === "string" && /^(revision|created|updated|shares)/.test(name)
      ? Number(value)
      : value;
  });
  const checksum = checksumOf(values as unknown as Parameters<typeof checksumOf>[0]);
  await run(`UPDATE resources SET fields = ?, checksum = ? ${where}`, fields, checksum, ...key);
  const rebuilder = await openRebuilder(config);
  await rebuilder.rebuild(Number(part(row)));
  await rebuilder.close();
}

async function pickFile({ config, run, choose }: Place) {
  const folder = filesFolder(config) ?? "";
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
  const path = choose.one(names);
  const key = path.slice(folder.length).replaceAll("/", "");
  const owners = await run("SELECT id, files, name FROM resources JOIN collections USING (part)");
  const owner = owners.find(({ files }) => String(files).includes(key));
  const collection = String(owner?.name);
  return { path, collection, resource: `/${collection}/${owner?.id}` };
}
