// Checks at the start that the folder of a website can be served, and holds nothing private.

import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CliError } from "../lib/cli-error.ts";
import { type Config, settings } from "./config.ts";
import type { Log } from "./log.ts";
import { isWithin } from "./open-files.ts";
import { apiPathOf } from "./places.ts";

const privateSettings = ["data", "files", "backupTo", "tlsKey", "collections", "actions"] as const;

/** Throws a CliError when there is no such folder, or anyone could read what is private. */
export function checkPublic(config: Config, log: Log): void {
  if (config.public === undefined) return;
  const folder = realPath(config.public);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CliError(
      2,
      `--public: there is no folder ${config.public}. Build the website first.`,
    );
  for (const name of privateSettings) {
    const path = config[name];
    if (path !== undefined && isWithin(realPath(path), folder))
      throw new CliError(
        2,
        `--public: ${config.public} must not contain ${path} (${settings[name].flag}): anyone may read its files.`,
      );
  }
  const path = join(folder, apiPathOf(config));
  if (statSync(path, { throwIfNoEntry: false }) !== undefined)
    log.warn({ path }, "this is not served as a part of the website, because the API is there");
}

/** Also of a path that does not exist yet. A URL of a bucket stays as it is. */
function realPath(path: string): string {
  if (path.startsWith("s3:")) return path;
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
