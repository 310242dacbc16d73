// Says what was erased, without its content, and where it can still be.

import type { EraseReport } from "../domain/write/erasures.ts";
import { describeStore } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { countOf, formatBytes } from "./progress.ts";

export const hasNothing = ({ collections, tokens, files }: EraseReport): boolean =>
  collections.length + tokens + files === 0;

export function reportLines(report: EraseReport, isTrial: boolean): readonly string[] {
  const { collections, tokens, files, bytes } = report;
  const verb = isTrial ? "Would erase" : "Erased";
  if (hasNothing(report)) return [`${verb} nothing.`];
  const others = counts({ tokens, files });
  return [
    ...collections.map(({ collection, resources, removals, formerStates, keys }) => {
      const rows = { resources, removals, "previous states": formerStates, keys };
      return `${verb} in ${collection}: ${counts(rows)}.`;
    }),
    ...(others === "" ? [] : [`${verb} ${others}${files > 0 ? ` (${formatBytes(bytes)})` : ""}.`]),
  ];
}

const counts = (all: Readonly<Record<string, number>>): string =>
  Object.entries(all)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => countOf(count, name))
    .join(", ");

const oldBackups =
  "Backups that were made before still have it, until `restante backup --keep` deletes them.";

export function whatRemains(config: Config, isFull: boolean): readonly string[] {
  if (config.store === undefined) return [`Nothing of it is left in ${config.data}.`, oldBackups];
  const pages = isFull ? "" : "unused parts of pages (--full rewrites them), ";
  return [
    `No row of ${describeStore(config)} has it. Postgres still has bytes of it in ${pages}WAL segments and their archive, on replicas and in base backups, until it overwrites or you delete them.`,
    oldBackups,
  ];
}
