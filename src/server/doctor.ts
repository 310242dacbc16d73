// Checks the store of a config, and repairs what can be computed again.

import type { Track } from "../backup/track.ts";
import { checkQuickly, type Examined, examineStore, type QuickInput } from "../doctor/doctor.ts";
import { orphanCheck } from "../doctor/files.ts";
import { closeToOthers, type Folders } from "../doctor/folder.ts";
import { runtimeVersion, version } from "../lib/program.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";
import { filesFolder, isInBucket } from "./open-files.ts";
import { type OpenRebuilder, openExaminer, openRebuilder } from "./open-repair.ts";
import { openSource } from "./open-transfer.ts";

export interface DoctorRequest {
  readonly isQuick: boolean;
  readonly track: Track;
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Other nodes may have uploads in progress, as the sweep of a server assumes. */
const orphanAgeMs = (config: Config): number =>
  config.store === undefined && !isInBucket(config) ? hourMs : dayMs;

const foldersOf = (config: Config): Folders => ({
  data: config.store === undefined ? config.data : undefined,
  files: filesFolder(config),
});

const quickInput = (config: Config): QuickInput => ({
  folders: foldersOf(config),
  openExaminer: () => openExaminer(config),
  versions: [`Restante ${version}`, runtimeVersion()],
  now: Date.now,
});

export const examine = (config: Config, { isQuick, track }: DoctorRequest): Promise<Examined> =>
  examineStore({
    ...quickInput(config),
    isQuick,
    track,
    orphanAgeMs: orphanAgeMs(config),
    openSource: () => openSource(config),
  });

/** Repairs what was found, and returns what was done. Rejects when another process owns the folder. */
export async function repair(
  config: Config,
  { findings, rebuildable, isWritable }: Examined,
  track: Track,
): Promise<readonly string[]> {
  if (!isWritable) return [];
  const hasOrphans = findings.some(({ check, state }) => check === orphanCheck && state !== "ok");
  const done: string[] = [];
  if (rebuildable.length > 0 || hasOrphans) {
    const rebuilder = await openRebuilder(config);
    try {
      done.push(...(await rebuild(rebuilder, rebuildable, track)));
      if (hasOrphans) done.push(await sweep(config, rebuilder));
    } finally {
      await rebuilder.close();
    }
  }
  for (const folder of await closeToOthers(foldersOf(config)))
    done.push(`Took the rights of all other users from ${folder}.`);
  return done;
}

async function rebuild(
  rebuilder: OpenRebuilder,
  collections: Examined["rebuildable"],
  track: Track,
): Promise<readonly string[]> {
  const total = collections.reduce((sum, each) => sum + each.total, 0);
  const step = track("repair", { total, unit: "resources" });
  for (const { part, total: resources } of collections) {
    await rebuilder.rebuild(part);
    step.add(resources);
  }
  step.done();
  return collections.map(
    ({ name }) => `Computed the indexes, search words, positions and counts of ${name} again.`,
  );
}

/** As the sweep of a server does. Nobody uploads to an embedded store whose folder is locked. */
async function sweep(config: Config, { files }: OpenRebuilder): Promise<string> {
  const snapshot = await openSource(config).source.snapshot();
  try {
    const count = await files.sweep((keys) => snapshot.referenced(keys), orphanAgeMs(config));
    return `Removed ${count} ${count === 1 ? "file" : "files"} that belonged to no resource.`;
  } finally {
    await snapshot.close();
  }
}

/** Logs what the cheap checks find. It does not stop a server. */
export async function logConcerns(config: Config, log: Log): Promise<void> {
  try {
    for (const { check, state, message, advice } of await checkQuickly(quickInput(config)))
      if (state !== "ok") log.warn({ check, advice }, message);
  } catch (error) {
    log.warn({ err: error }, "cannot check the folder of the data");
  }
}
