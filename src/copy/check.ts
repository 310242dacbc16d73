// Reads a replica back, and compares it with the snapshot that it is a copy of.

import { isDeepStrictEqual } from "node:util";
import type { LostFile } from "../backup/manifest.ts";
import type { Track } from "../backup/track.ts";
import { readFiles } from "../model/file.ts";
import { Outage } from "../model/outage.ts";
import { asReplica } from "../store/transfer/part-replica.ts";
import { sourceTableNames, toResourceRow } from "../store/transfer/source-tables.ts";
import type { Replica, Snapshot, SourceCollection } from "../store/transfer/transfer.ts";
import type { FileCopier } from "./files.ts";
import { Digester, type RowCopier } from "./rows.ts";

export interface Checked {
  readonly rows: number;
  readonly files: number;
  readonly fileBytes: number;
  /** Files that the source does not have as it should. */
  readonly lost: readonly LostFile[];
}

interface CheckInput {
  readonly rows: Pick<RowCopier, "digestsOf">;
  readonly files: Pick<FileCopier, "check">;
  readonly track: Track;
}

export async function checkReplica(
  snapshot: Snapshot,
  replica: Replica,
  { rows, files, track }: CheckInput,
): Promise<Checked> {
  const present = await replica.state();
  requireSame("the collections", describe(snapshot), describe(present));
  requireSame("the tokens", snapshot.tokens, present.tokens);
  requireSame("the store", snapshot.store, present.store);
  const total = present.collections.reduce((sum, { head }) => sum + head.total, 0);
  const step = track("check", { total, unit: "resources" });
  const check = new PartCheck(files, step.add);
  for (const collection of present.collections) await check.check(present, collection, rows);
  step.done();
  return check;
}

const describe = ({ collections }: Snapshot): readonly SourceCollection[] =>
  collections.map(asReplica);

function requireSame(what: string, wanted: unknown, found: unknown): void {
  if (isDeepStrictEqual(wanted, found)) return;
  throw new Outage("damaged", `${what} of the copy differ from those of the source`);
}

class PartCheck implements Checked {
  readonly lost: LostFile[] = [];
  rows = 0;
  files = 0;
  fileBytes = 0;
  readonly #files: CheckInput["files"];
  readonly #add: (count: number) => void;

  constructor(files: CheckInput["files"], add: (count: number) => void) {
    this.#files = files;
    this.#add = add;
  }

  async check(
    present: Snapshot,
    { name, part, head }: SourceCollection,
    copied: CheckInput["rows"],
  ): Promise<void> {
    for (const table of sourceTableNames) {
      const digester = new Digester();
      for await (const rows of present.rows(part, table)) {
        digester.add(rows);
        if (table !== "resources") continue;
        for (const row of rows) await this.#checkFiles(name, toResourceRow(row));
        this.#add(rows.length);
      }
      const digest = digester.finish();
      this.rows += digest.rows;
      requireSame(`the rows of ${table} of ${name}`, copied.digestsOf(part)?.[table], digest);
      if (table === "resources") requireSame(`the number of ${name}`, head.total, digest.rows);
    }
  }

  async #checkFiles(
    collection: string,
    { id, files }: ReturnType<typeof toResourceRow>,
  ): Promise<void> {
    for (const file of files === null ? [] : readFiles(files)) {
      const isThere = await this.#files.check(file);
      if (!isThere) this.lost.push({ collection, id, name: file.slot, key: file.key });
      this.files++;
      this.fileBytes += file.size;
    }
  }
}
