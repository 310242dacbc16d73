// Finds the test files of a run, reads their tags, and groups those that share a process.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A tag is a line of its own in a test file, such as `// @runtimes both`. */
const tags = {
  runtimes: ["node", "both", "only node", "only bun"],
  tier: ["all"],
  process: ["own"],
};

/** A process of many files compiles the server once. Several processes keep all cores busy until the end. */
const maxFiles = 30;

/** Folders of fewer files share a process with others. */
const fewFiles = 8;

/** The files of these folders, and those in none, wait more than they work, so that others fill the time when they start early. */
const waiting = ["", "store", "runtime", "console", "copy"];

/** Returns the test files whose paths contain one of the filters, or all; those named *.long.test.ts for the tier `long`. */
export function findTests(root, tier, filters) {
  return readdirSync(join(root, "test"), { recursive: true })
    .filter((file) => file.endsWith(".test.ts"))
    .filter((file) => tier === "long" || !file.endsWith(".long.test.ts"))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort()
    .map((file) => readTags(`./test/${file}`, readFileSync(join(root, "test", file), "utf8")));
}

function readTags(path, source) {
  const file = { path, source };
  for (const [line, name, value] of source.matchAll(/^\/\/ @(?!ts-)(\S*) ?(.*)$/gm)) {
    if (!tags[name]?.includes(value)) throw new Error(`${path}: ${line} is not a tag`);
    file[name] = value;
  }
  return file;
}

/** The tier `short` runs a file on one runtime, mostly Bun, which takes less time. */
export function runsOn(file, runtime, tier) {
  if (tier === "short" && file.tier === "all") return false;
  if (file.runtimes?.startsWith("only ")) return file.runtimes === `only ${runtime}`;
  return tier !== "short" || file.runtimes === "both" || runtime === (file.runtimes ?? "bun");
}

/** Returns lists of files, each for one process, in the order in which they start. */
export function groupFiles(files, runtime) {
  const isAlone = ({ process, source }) =>
    process === "own" ||
    // Node runs such a hook for the tests of all files of the process. The last two have one.
    (runtime === "node" && /^(?:(?:before|after)Each|stopTimeHere|.*lowerLimit)\(/m.test(source));
  const others = files.filter((file) => !isAlone(file));
  const folderOf = ({ path }) => path.split("/").slice(2, -1)[0] ?? "";
  const filesIn = (folder) => others.filter((file) => folderOf(file) === folder);
  const isLarge = (folder) => filesIn(folder).length > fewFiles;
  const folders = [...new Set([...waiting, ...others.map(folderOf)])];
  const small = folders.filter((folder) => !isLarge(folder)).flatMap(filesIn);
  const lists = [...folders.filter(isLarge).map(filesIn), small];
  return [...files.filter(isAlone).map((file) => [file]), ...lists.flatMap(split)];
}

/** One of each group in turn, so that slow files with similar names are apart. */
function split(files) {
  const count = Math.ceil(files.length / maxFiles);
  return Array.from({ length: count }, (_, group) =>
    files.filter((_, index) => index % count === group),
  );
}
