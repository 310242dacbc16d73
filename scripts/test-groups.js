// Groups the test files that can share a process, because loading the server is most of the time of a small file.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A process of many files compiles the server once. Several groups keep all cores busy until the end. */
const maxFiles = 30;

/** Folders with so few files share a process with others beside them. Node takes longer to load the server. */
const fewFiles = { bun: 3, node: 6 };

/** These measure memory, or change a prototype. Node has the hooks of a file for all files of its process. */
const needsOwnProcess = {
  bun: /\.\.\/memory\.ts"|\.prototype\.\w+ = /,
  node: /\.\.\/memory\.ts"|\.prototype\.\w+ = |^(?:before|after)Each\(/m,
};

/** These run alone, and they start first, so that the end is not one long job on one core. */
const longest = [
  "/store/postgres.test",
  "/store/sqlite.test",
  "/folder-owner.test",
  "/store/sqlite/suspect.test",
  "/workers.test",
  "/main.test",
  "/two-processes.test",
  "/http/actions.test",
  "/console-examples.test",
];

/** Returns lists of files; those of one list are in the same folder, or in small ones, and run in one process. */
export function groupFiles(files, root, runtime) {
  const sharing = new Map();
  const alone = [];
  for (const file of files) {
    const isAlone =
      isNamed(file, longest) ||
      needsOwnProcess[runtime].test(readFileSync(join(root, file), "utf8"));
    if (isAlone) alone.push([file]);
    else add(sharing, parentOf(file), [file]);
  }
  return [...joinSmall(sharing, fewFiles[runtime]).flatMap(split), ...alone];
}

function parentOf(path) {
  return path.slice(0, path.lastIndexOf("/"));
}

function add(lists, key, files) {
  lists.set(key, [...(lists.get(key) ?? []), ...files]);
}

/** Joins the lists of small folders that are in one folder. */
function joinSmall(byFolder, few) {
  const joined = new Map();
  for (const [folder, files] of byFolder)
    add(joined, files.length > few ? folder : `small ones in ${parentOf(folder)}`, files);
  return [...joined.values()];
}

/** One of each group in turn, so that slow files with similar names are apart. */
function split(files) {
  const count = Math.ceil(files.length / maxFiles);
  return Array.from({ length: count }, (_, group) =>
    files.filter((_, index) => index % count === group),
  );
}

export function isNamed(file, names) {
  return names.some((name) => file.includes(name));
}

/** The files of these folders wait more than they work, so that others fill the time when they start early. */
const waiting = ["/console/", "/copy/", "/runtime/", "/store/"];

/** Orders the groups: the longest first. Those of many files take longer than most single files. */
export function placeOf(group) {
  if (group.length > 1) return longest.length + (isNamed(group[0], waiting) ? 0 : 1);
  const place = longest.findIndex((name) => group[0].includes(name));
  return place === -1 ? longest.length + 2 : place;
}
