// Checks a store: folder, versions, clock, database, resources, derived rows and files.

import type { Track } from "../backup/track.ts";
import { messageOf } from "../lib/cli-error.ts";
import type { Files } from "../store/files.ts";
import { correctReferrers } from "../store/transfer/publication.ts";
import type {
  Examination,
  Examiner,
  Snapshot,
  TransferSource,
} from "../store/transfer/transfer.ts";
import { adviceFor } from "../store/version.ts";
import { type CheckedCollection, checkCollection, repairAdvice } from "./collection.ts";
import { checkFiles, checkOrphans } from "./files.ts";
import { type Finding, Findings } from "./finding.ts";
import { checkFolders, type Folders } from "./folder.ts";

export interface QuickInput {
  readonly folders: Folders;
  /** Called when the folder has a database. */
  readonly openExaminer: () => Examiner;
  /** Of Restante and of the runtime. */
  readonly versions: readonly string[];
  readonly now: () => number;
}

export interface DoctorInput extends QuickInput {
  readonly openSource: () => { readonly source: TransferSource; readonly files: Files };
  /** Leaves out what reads every row or file. */
  readonly isQuick: boolean;
  readonly orphanAgeMs: number;
  readonly track: Track;
}

export interface Rebuildable {
  readonly part: number;
  readonly name: string;
  readonly total: number;
}

export interface Examined {
  readonly findings: readonly Finding[];
  /** The parts whose derived rows can be computed again, and are wrong. */
  readonly rebuildable: readonly Rebuildable[];
  /** Whether it is safe to write to the database. */
  readonly isWritable: boolean;
}

/** With an error of these, nothing is repaired. */
const vital = new Set(["folder", "versions", "storage", "database"]);

/** Takes milliseconds. */
export async function checkQuickly(input: QuickInput): Promise<readonly Finding[]> {
  const findings = new Findings();
  await runQuickly(input, findings);
  return findings.list();
}

export async function examineStore(input: DoctorInput): Promise<Examined> {
  const findings = new Findings();
  const examination = await runQuickly(input, findings);
  const isOpen = examination?.writtenBy.schema === examination?.supported.newest;
  const checked: CheckedCollection[] = [];
  if (examination !== undefined && isOpen && !input.isQuick) {
    await attempt(input, findings, "database", () => checkIntegrity(input, examination, findings));
    await attempt(input, findings, "database", () => checkContent(input, findings, checked));
  }
  const list = findings.list();
  const rebuildable = checked
    .filter(
      ({ isRepairable, collection }) => isRepairable && findings.repairable.has(collection.name),
    )
    .map(({ collection: { part, name }, total }) => ({ part, name, total }));
  const isSound = ({ check, state }: Finding) => state !== "error" || !vital.has(check);
  return { findings: list, rebuildable, isWritable: list.every(isSound) };
}

async function runQuickly(input: QuickInput, findings: Findings): Promise<Examination | undefined> {
  if (!(await checkFolders(input.folders, findings))) return undefined;
  let examination: Examination | undefined;
  await attempt(input, findings, "database", async () => {
    examination = await input.openExaminer().examine();
    checkVersions(input, examination, findings);
    checkClock(input, examination, findings);
    for (const { isError, message, advice } of examination.concerns)
      findings.add("storage", { state: isError ? "error" : "warning", message, advice });
  });
  return examination;
}

/** What cannot be read is a finding, whatever the error is: damaged data can cause any. */
async function attempt(
  { folders }: QuickInput,
  findings: Findings,
  check: string,
  act: () => Promise<void>,
  collection?: string,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    const what = collection === undefined ? "The database" : `The collection ${collection}`;
    findings.add(check, {
      ...(collection !== undefined && { collection }),
      state: "error",
      message: `${what} cannot be read: ${messageOf(error).replace(/\.$/, "")}.`,
      advice: folders.data === undefined ? postgresAdvice : damageAdvice,
    });
  }
}

const postgresAdvice = "Check --store, and what Postgres writes to its log.";

const damageAdvice =
  "If it is damaged, stop the server, keep a copy of the data folder, and restore the last backup.";

function checkVersions(
  { versions }: QuickInput,
  { engine, writtenBy, supported }: Examination,
  findings: Findings,
): void {
  const { schema } = writtenBy;
  findings.checked("versions", `${[...versions, engine].join(", ")}, schema ${schema}.`);
  if (schema === supported.newest) return;
  const advice = adviceFor(writtenBy, supported);
  findings.add("versions", {
    state: "error",
    message: `The database has the schema version ${schema}, and this Restante needs ${supported.newest}.`,
    advice: `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`,
  });
}

/** Clocks of several machines differ a little. */
const clockToleranceMs = 60_000;
/** No version of Restante is older. */
const earliest = Date.UTC(2026, 0, 1);

function checkClock({ now }: QuickInput, { newestAt }: Examination, findings: Findings): void {
  const time = now();
  const iso = (at: number) => new Date(at).toISOString();
  const isCompared = newestAt > 0 ? ", and nothing that is stored is newer" : "";
  findings.checked("clock", `It is ${iso(time)}${isCompared}.`);
  const advice = "Set the clock of this machine, best by NTP.";
  if (time < earliest)
    findings.add("clock", { state: "warning", message: `The clock shows ${iso(time)}.`, advice });
  else if (newestAt > time + clockToleranceMs)
    findings.add("clock", {
      state: "warning",
      message: `The clock shows ${iso(time)}, and something was stored at ${iso(newestAt)}.`,
      advice,
    });
}

async function checkIntegrity(
  { openExaminer, track }: DoctorInput,
  { bytes }: Examination,
  findings: Findings,
): Promise<void> {
  findings.checked("database", "The database is intact.");
  const step = bytes > 0 ? track("database", { unit: "bytes" }) : undefined;
  const found = await openExaminer().checkIntegrity();
  step?.add(bytes);
  step?.done();
  for (const message of found)
    findings.add("database", {
      state: "error",
      message: `The database is damaged: ${message}.`,
      advice: damageAdvice,
    });
}

async function checkContent(
  input: DoctorInput,
  findings: Findings,
  checked: CheckedCollection[],
): Promise<void> {
  const { source, files } = input.openSource();
  const snapshot = await source.snapshot();
  try {
    announce(snapshot, findings);
    await attempt(input, findings, "references", async () => checkReferrers(snapshot, findings));
    await checkCollections(snapshot, input, findings, checked);
    const filesInput = { ...input, source, snapshot, files, findings };
    await checkFiles(filesInput, checked);
    // A reference that is lost would make a file an orphan.
    const hasAll = ["resources", "counts", "file references"].every(
      (check) => !findings.hasProblem(check),
    );
    if (hasAll) await checkOrphans(filesInput);
  } finally {
    await snapshot.close();
  }
}

function announce({ collections }: Snapshot, findings: Findings): void {
  const total = collections.reduce((sum, { head }) => sum + head.total, 0);
  const amount = `${total.toLocaleString("en-US")} resources in ${collections.length} collections`;
  findings.checked("resources", `${amount} have the checksums they were stored with.`);
  for (const check of ["counts", "indexes", "search words", "file references", "positions"])
    findings.checked(check, "They are those of the resources.");
  findings.checked("unique values", "No two resources have the same.");
}

function checkReferrers({ collections, engine }: Snapshot, findings: Findings): void {
  findings.checked("references", "Collections know which others refer to them.");
  for (const [{ name }, referrers] of correctReferrers(collections))
    findings.add("references", {
      state: "error",
      collection: name,
      isRepairable: true,
      message: `The stored list of collections that refer to ${name} is wrong; it should be: ${referrers.join(", ") || "none"}.`,
      advice: repairAdvice(engine),
    });
}

async function checkCollections(
  snapshot: Snapshot,
  input: DoctorInput,
  findings: Findings,
  checked: CheckedCollection[],
): Promise<void> {
  const total = snapshot.collections.reduce((sum, { head }) => sum + head.total, 0);
  const step = input.track("resources", { total, unit: "resources" });
  for (const collection of snapshot.collections)
    await attempt(
      input,
      findings,
      "resources",
      async () => {
        checked.push(await checkCollection(snapshot, collection, findings, step.add));
      },
      collection.name,
    );
  step.done();
}
