// Watches files and folders for changes, for development.

import { readdirSync, type Stats, statSync } from "node:fs";
import { join, sep } from "node:path";
import type { Reloader } from "./reload.ts";

const everyMs = 150;

/**
 * Reloads after each change since the state `before`, when it is over. It looks at the files again and again, which
 * needs no more than their names: a folder may appear later, and editors replace files in many ways.
 */
export function watchFiles(before: string, reloader: Pick<Reloader, "paths" | "reload">): void {
  let used = before;
  let seen = before;
  const look = async () => {
    const now = stateOf(reloader.paths);
    // Two equal looks: the editor has written all of it.
    if (now === seen && now !== used) {
      used = now;
      await reloader.reload();
    }
    seen = now;
    setTimeout(look, everyMs).unref();
  };
  void look();
}

/** Describes the files, so that a change of one of them changes the text. */
export const stateOf = (paths: readonly string[]): string =>
  paths.map((path) => stateOfPath(path, new Set())).join("\n");

/** Leaves out what is in a folder that was seen: a link can lead back to one. */
function stateOfPath(path: string, seen: Set<string>): string {
  const stat = statOf(path);
  if (typeof stat === "string") return `${path} ${stat}`;
  if (!stat.isDirectory()) return `${path} ${stat.mtimeMs} ${stat.size} ${stat.ino}`;
  const folder = `${stat.dev} ${stat.ino}`;
  if (seen.has(folder)) return `${path} ${folder}`;
  seen.add(folder);
  return [path, ...namesIn(path).map((name) => stateOfPath(join(path, name), seen))].join("\n");
}

/** A link can lead to itself, and a folder can be closed to the server. */
function statOf(path: string): Stats | string {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? "missing";
  } catch {
    return "unreadable";
  }
}

/** The folder may be removed in between. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name !== "node_modules" && !name.startsWith("."));
  } catch {
    return [`${sep}unreadable`];
  }
}
