// Checks the uploaded files: those that are missing, damaged, or that no resource has.

import { createHash } from "node:crypto";
import type { Track } from "../backup/track.ts";
import type { StoredFile } from "../model/file.ts";
import type { Files } from "../store/files.ts";
import type { Snapshot, TransferSource } from "../store/transfer/transfer.ts";
import { type CheckedCollection, filesOf, isIntactRow } from "./collection.ts";
import type { Findings } from "./finding.ts";

export const orphanCheck = "orphaned files";

export interface FilesInput {
  readonly source: TransferSource;
  readonly snapshot: Snapshot;
  readonly files: Files;
  /** Younger files may belong to a request in progress. */
  readonly orphanAgeMs: number;
  readonly findings: Findings;
  readonly track: Track;
}

/** A file that was not there, which is fine when its resource was deleted since the snapshot. */
interface Missing {
  readonly key: string;
  readonly collection: string;
  readonly resource: string;
  readonly path: string;
}

/** More are not named in any case. */
const maxMissing = 1_000;

export async function checkFiles(
  input: FilesInput,
  collections: readonly CheckedCollection[],
): Promise<void> {
  const { findings, track } = input;
  const total = collections.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
  const count = collections.reduce((sum, { files }) => sum + files, 0);
  findings.checked("files", `The bytes of all files (${count}) are those that were uploaded.`);
  const step = track("files", { total, unit: "bytes" });
  const missing: Missing[] = [];
  for (const { collection } of collections.filter(({ files }) => files > 0))
    for await (const rows of input.snapshot.rows(collection.part, "resources"))
      for (const row of rows.filter(isIntactRow))
        for (const file of filesOf(row)) {
          const resource = `/${collection.name}/${row[1]}`;
          const path = `${resource}/${file.slot}`;
          const found = { key: file.key, collection: collection.name, resource, path };
          if (!(await isThere(input, file, found)) && missing.length < maxMissing)
            missing.push(found);
          step.add(file.size);
        }
  step.done();
  await reportMissing(input, missing);
}

/** Reports a file with other bytes. Returns whether the file exists. */
async function isThere(
  { files, findings }: FilesInput,
  { key, size, sha256 }: StoredFile,
  { collection, resource, path }: Missing,
): Promise<boolean> {
  const opened = await files.open(key);
  if (opened === undefined) return false;
  const hash = createHash("sha256");
  for await (const piece of opened.bytes) hash.update(piece);
  if (opened.size !== size || hash.digest("hex") !== sha256)
    findings.add("files", {
      state: "error",
      collection,
      resource,
      advice,
      message: `The file ${path} does not have the bytes that were uploaded.`,
    });
  return true;
}

const advice = "Upload it again, or restore the collection from a backup.";

/** A file that was missing before a resource still refers to it is lost. */
async function reportMissing(
  { source, findings }: FilesInput,
  missing: readonly Missing[],
): Promise<void> {
  if (missing.length === 0) return;
  const now = await source.snapshot();
  try {
    const referenced = await now.referenced(missing.map(({ key }) => key));
    for (const { key, collection, resource, path } of missing)
      if (referenced.has(key))
        findings.add("files", {
          state: "error",
          collection,
          resource,
          advice,
          message: `The file ${path} is missing.`,
        });
  } finally {
    await now.close();
  }
}

export async function checkOrphans({
  snapshot,
  files,
  orphanAgeMs,
  findings,
}: FilesInput): Promise<void> {
  findings.checked(orphanCheck, "Every file belongs to a resource.");
  let count = 0;
  const referenced = (keys: readonly string[]) => snapshot.referenced(keys);
  for await (const keys of files.orphans(referenced, orphanAgeMs)) count += keys.length;
  if (count === 0) return;
  const amount = count === 1 ? "1 file belongs" : `${count} files belong`;
  findings.add(orphanCheck, {
    state: "warning",
    isRepairable: true,
    message: `${amount} to no resource, and only ${count === 1 ? "takes" : "take"} space.`,
    advice: "The server removes them when it starts next, or run restante doctor --repair.",
  });
}
