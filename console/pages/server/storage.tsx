// How large everything is: the collections, and the files of the database.

import { type Metrics, totalOf } from "../../plot/metrics.ts";
import { collections } from "../../state/collections.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { collectionPath, linkTo } from "../../state/router.ts";
import { formatBytes, formatNumber } from "../../ui/format.ts";
import { Shown } from "../../ui/states.tsx";
import { readMetrics } from "./status.tsx";
import { ServerPage } from "./tabs.tsx";

export function Storage() {
  useCurrentRequest({ method: "GET", path: "/-/collections" });
  const loaded = useLoad("storage", readMetrics);
  const all = (collections.value ?? [])
    .map(({ name, bytes = 0, total = 0 }) => ({ name, size: bytes, total }))
    .toSorted((one, other) => other.size - one.size);
  return (
    <ServerPage>
      <h2>Collections</h2>
      {all.length === 0 && <p class="faint">There is no collection yet.</p>}
      <Bars
        bars={all.map(({ name, size, total }) => ({
          ...{ name, size, href: linkTo(collectionPath(name)) },
          note: `${formatNumber(total)} resources`,
        }))}
      />
      <h2>On disk</h2>
      <Shown loaded={loaded} what="sizes">
        {(metrics) => (
          <>
            <Bars bars={partsOf(metrics)} />
            <FreeSpace metrics={metrics} />
          </>
        )}
      </Shown>
    </ServerPage>
  );
}

interface StorageBar {
  readonly name: string;
  readonly size: number;
  readonly note: string;
  readonly href?: string;
}

/** Postgres has no such files. */
const parts = [
  ["restante_database_bytes", "Database", "resources, indexes and search"],
  ["restante_wal_bytes", "WAL", "what is not yet in the database file"],
  ["restante_stored_file_bytes", "Files", "of all resources"],
  ["restante_backup_last_bytes", "Last backup", "rows and files"],
] as const;

const partsOf = (metrics: Metrics): readonly StorageBar[] =>
  parts.flatMap(([metric, name, note]) => {
    const size = totalOf(metrics, metric);
    return size === undefined ? [] : [{ name, size, note }];
  });

function FreeSpace({ metrics }: { metrics: Metrics }) {
  const free = totalOf(metrics, "restante_disk_free_bytes");
  if (free === undefined) return null;
  return <p>{formatBytes(free)} are free on the disk of the database.</p>;
}

function Bars({ bars }: { bars: readonly StorageBar[] }) {
  const most = Math.max(...bars.map(({ size }) => size), 1);
  return (
    <ul class="bars">
      {bars.map(({ name, size, note, href }) => (
        <li key={name}>
          <span class="bar-name">{href ? <a href={href}>{name}</a> : name}</span>
          <meter max={most} value={size} aria-label={`Size of ${name}`} />
          <span class="bar-size">{formatBytes(size)}</span>
          <span class="faint bar-note">{note}</span>
        </li>
      ))}
    </ul>
  );
}
