// Checks the folders of a store: that they are there, who can read them, free space and file system.

import { constants, type Stats } from "node:fs";
import { access, chmod, readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { riskyFileSystem } from "./file-systems.ts";
import type { Findings } from "./finding.ts";

export interface Folders {
  /** The data folder; undefined on Postgres, where it holds nothing but files. */
  readonly data: string | undefined;
  /** Undefined when files are in a bucket. */
  readonly files: string | undefined;
}

const minFreeBytes = 500_000_000;
const minFreePart = 0.1;

/** Takes milliseconds. Returns whether there is a database to look at. */
export async function checkFolders(folders: Folders, findings: Findings): Promise<boolean> {
  const { data } = folders;
  const isThere = data === undefined || (await checkDataFolder(data, findings));
  await checkPermissions(folders, findings);
  await checkSpace(folders, findings);
  if (data !== undefined) await checkFileSystem(data, findings);
  return isThere;
}

async function checkDataFolder(data: string, findings: Findings): Promise<boolean> {
  findings.checked("folder", `${data} is a data folder.`);
  const folder = await statOf(data);
  const database = await statOf(join(data, "restante.db"));
  const problem =
    folder === undefined
      ? "does not exist"
      : !folder.isDirectory()
        ? "is no folder"
        : (database?.size ?? 0) === 0
          ? "has no database"
          : undefined;
  if (problem === undefined) return true;
  findings.add("folder", {
    state: "error",
    message: `${data} ${problem}.`,
    advice: "Correct --data, start the server once, or restore a backup.",
  });
  return false;
}

const statOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** The folders that exist and do not lie in another one. */
async function topFolders({ data, files }: Folders): Promise<readonly string[]> {
  const isInner = data !== undefined && files?.startsWith(join(data, "/"));
  const all = [data, isInner ? undefined : files].filter((each) => each !== undefined);
  const found = await Promise.all(all.map(statOf));
  return all.filter((_, index) => found[index]?.isDirectory());
}

const others = 0o007;

async function checkPermissions(folders: Folders, findings: Findings): Promise<void> {
  for (const folder of await topFolders(folders)) {
    findings.checked("permissions", "Only the owner and the group of the folders can open them.");
    const stats = await stat(folder);
    if (isOpenToOthers(stats))
      findings.add("permissions", {
        state: "warning",
        message: `Every user of this machine can open ${folder}.`,
        advice: `Run chmod o-rwx ${folder}, or restante doctor --repair.`,
        isRepairable: true,
      });
    for (const path of await pathsIn(folder, folders)) await checkOwner(path, stats, findings);
  }
}

/** Windows has other permissions. */
const isOpenToOthers = ({ mode }: Stats): boolean =>
  process.platform !== "win32" && (mode & others) !== 0;

/** The folder, its files and the folders of uploaded files, without these themselves. */
async function pathsIn(folder: string, { files }: Folders): Promise<readonly string[]> {
  const names = await readdir(folder);
  const own = names
    .filter((name) => name.startsWith("restante."))
    .map((name) => join(folder, name));
  const uploads = files?.startsWith(folder) ? await readdir(files).catch(() => []) : [];
  const inner = uploads.map((name) => join(files ?? "", name));
  return [folder, ...own, ...inner];
}

/** Files come and go while a server runs. */
async function checkOwner(path: string, { uid }: Stats, findings: Findings): Promise<void> {
  const stats = await statOf(path);
  if (stats === undefined) return;
  const isUsable = await access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (stats.uid !== uid)
    findings.add("permissions", {
      state: "warning",
      message: `${path} belongs to another user than its folder, so that the server may not be able to use it.`,
      advice: `Run chown ${uid} ${path}.`,
    });
  else if (!isUsable && (await statOf(path)) !== undefined)
    findings.add("permissions", {
      state: "error",
      message: `This user cannot read and write ${path}.`,
      advice: "Run this command as the user that runs the server, or give the user these rights.",
    });
}

async function checkSpace(folders: Folders, findings: Findings): Promise<void> {
  for (const folder of await topFolders(folders)) {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const needed = Math.max(minFreeBytes, (await databaseBytes(folder)) * minFreePart);
    findings.checked("space", `${gigabytes(free)} are free.`);
    if (free >= needed) continue;
    findings.add("space", {
      state: "warning",
      message: `Only ${gigabytes(free)} are free in ${folder}. When nothing is free, nothing can be written.`,
      advice: `Have at least ${gigabytes(needed)} free: delete something, or move to a larger disk.`,
    });
  }
}

async function databaseBytes(folder: string): Promise<number> {
  const names = ["restante.db", "restante.db-wal"].map((name) => join(folder, name));
  const sizes = await Promise.all(names.map(async (name) => (await statOf(name))?.size ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

async function checkFileSystem(data: string, findings: Findings): Promise<void> {
  const found = await statfs(data).catch(() => undefined);
  if (found === undefined) return;
  findings.checked("file system", "The file system is one of this machine.");
  const name = riskyFileSystem(found.type, process.platform);
  if (name !== undefined)
    findings.add("file system", {
      state: "warning",
      message: `${data} is on a file system (${name}) whose locks and syncs may not hold what they promise: the database can be damaged.`,
      advice: "Move the data folder to a disk of this machine, or use Postgres.",
    });
}

/** Takes the rights of all others from folders that have some. Returns these folders. */
export async function closeToOthers(folders: Folders): Promise<readonly string[]> {
  const closed: string[] = [];
  for (const folder of await topFolders(folders)) {
    const stats = await stat(folder);
    if (!isOpenToOthers(stats)) continue;
    await chmod(folder, stats.mode & 0o7777 & ~others);
    closed.push(folder);
  }
  return closed;
}
