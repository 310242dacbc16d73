// Reads a log of strace: what was written and renamed but not synced when a process answered.

import { dirname } from "node:path";

/** The arguments for strace: every call that changes or syncs a file, and those that send. */
export const tracedBy = (log: string): readonly [string, ...string[]] => [
  "strace",
  ...["-f", "-y", "-qq", "-s", "24", "--seccomp-bpf", "-o", log],
  "-e",
  "trace=write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat",
];

const writes = /^p?writev?(?:64|2)?\(\d+<(?<path>\/[^>]*?)(?: \(deleted\))?>/;
const syncs = /^f(?:data)?sync\(\d+<(?<path>\/[^>]*)>/;
const renames = /^rename(?:at2?)?\((?:[^"]*, )?"(?<from>[^"]*)", (?:[^"]*, )?"(?<to>[^"]*)"/;
const unlinks = /^unlink(?:at)?\((?:[^"]*, )?"(?<path>[^"]*)"/;
const makes = /^mkdir(?:at)?\((?:[^"]*, )?"(?<path>[^"]*)"/;
const answers = /^(?:write|writev|sendto|sendmsg)\(\d+<(?:socket|TCP)[^>]*>.*"HTTP\/1\.1 2/;

/**
 * Returns for each successful answer the paths below the folder that were not on the disk: files that were
 * written, folders in which something was made or renamed. `isIgnored` says which files need no sync. A file
 * that is renamed before it was synced, and a WAL that is deleted before a rename was, are in all that follow.
 * A WAL that was written and synced since the last answer is not among them: what it has got since then is of
 * a later commit, such as a step of an index build or the time at which a token was used.
 */
export function unsyncedAtAnswers(
  log: string,
  folder: string,
  isIgnored: (path: string) => boolean,
): readonly (readonly string[])[] {
  const dirty = new Set<string>();
  const committed = new Set<string>();
  const found: string[][] = [];
  const isOurs = (path: string) => path.startsWith(folder) && !isIgnored(path);
  const begun = new Map<string, string>();
  for (const line of log.split("\n")) {
    const [, pid = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    // A write counts from its begin, a sync when it has returned.
    const rest = /^<\.\.\. \w+ resumed>(?<rest>.*)$/.exec(text)?.groups?.rest;
    const call = rest === undefined ? text : `${begun.get(pid) ?? ""}${rest}`;
    const isUnfinished = text.includes("<unfinished ...>");
    if (isUnfinished) begun.set(pid, text.replace(/ *<unfinished \.\.\.>/, ""));
    const hasFailed = / = -1 /.test(call);
    const written = writes.exec(call)?.groups?.path;
    if (written !== undefined && rest === undefined && isOurs(written)) dirty.add(written);
    if (rest === undefined && answers.test(text)) {
      found.push([...dirty.difference(committed)]);
      committed.clear();
    }
    if (isUnfinished || hasFailed) continue;
    const synced = syncs.exec(call)?.groups?.path;
    if (synced !== undefined && dirty.delete(synced) && synced.endsWith("-wal"))
      committed.add(synced);
    const removed = unlinks.exec(call)?.groups?.path;
    if (removed !== undefined) dirty.delete(removed);
    // What replaces the database must not lose its name after that.
    if (removed?.endsWith("-wal") && dirty.has(dirname(removed)))
      dirty.add(`${removed}, deleted before its folder was synced`);
    const made = makes.exec(call)?.groups?.path;
    if (made !== undefined && isOurs(made)) dirty.add(dirname(made));
    const { from, to } = renames.exec(call)?.groups ?? {};
    if (from === undefined || to === undefined || !isOurs(to)) continue;
    if (dirty.delete(from)) dirty.add(`${from}, renamed before it was synced`);
    dirty.delete(to);
    dirty.add(dirname(to));
  }
  found.push([...dirty]);
  return found;
}
