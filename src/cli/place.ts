// Reads an option that is a folder, a file or a place in a bucket.

import { usageError } from "../lib/cli-error.ts";
import { settings } from "../server/config.ts";

/** Returns an absolute path, or a URL as it is. */
export function readPlace(where: string, text: string): string {
  const { read, allowed } = settings.files;
  const place = read(text, process.cwd());
  if (place === undefined) throw usageError([{ where, detail: `must be ${allowed}` }]);
  return place;
}
