// Packs the folder of a package as `npm pack` does, without npm.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/** Returns a tarball of what `files` in its package.json lists. */
export function pack(folder: string): Buffer<ArrayBuffer> {
  const { files } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const paths = pathsOf(folder, ["package.json", ...files]);
  const blocks = paths.flatMap((path) => {
    const bytes = readFileSync(join(folder, path));
    const isProgram = (statSync(join(folder, path)).mode & 0o100) !== 0;
    const name = `package/${path.replaceAll(sep, "/")}`;
    return [
      tarHeader(name, bytes.length, 0, isProgram ? 0o755 : 0o644),
      bytes,
      tarPadding(bytes.length),
    ];
  });
  return gzipSync(Buffer.concat([...blocks, tarEnd()]));
}

/** An entry is a file or a folder; one that begins with `!` is left out. */
function pathsOf(folder: string, entries: readonly string[]): readonly string[] {
  const isLeftOut = (path: string) =>
    entries.some((entry) => `!${path}/`.replaceAll(sep, "/").startsWith(`${entry}/`));
  return entries
    .filter((entry) => !entry.startsWith("!"))
    .flatMap((entry) => filesIn(folder, entry))
    .filter((path) => !isLeftOut(path));
}

const filesIn = (folder: string, entry: string): readonly string[] =>
  statSync(join(folder, entry)).isFile()
    ? [entry]
    : readdirSync(join(folder, entry), { recursive: true, withFileTypes: true })
        .filter((found) => found.isFile())
        .map((found) => relative(folder, join(found.parentPath, found.name)))
        .sort();
