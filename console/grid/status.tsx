// The line below the grid: how many there are, what the query cost, and a running export.

import { get } from "../api/client.ts";
import type { List, SlowQuery } from "../api/server-types.ts";
import { isAdmin } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { linkTo } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { countText, formatBytes, formatNumber, formatSeconds } from "../ui/format.ts";
import { BatchProgress } from "./bulk-report.tsx";
import { runningExport } from "./export.ts";
import type { Summary } from "./page-cache.ts";

interface StatusProps {
  readonly collection: string;
  readonly page: Summary | undefined;
  /** Undefined when the server does not count so many, and the end was not seen. */
  readonly total: number | undefined;
  /** How many the collection has without filters, if known. */
  readonly whole: number | undefined;
  readonly isFiltered: boolean;
  readonly isLoading: boolean;
}

/** Below this, nobody waits. */
const noticeableMs = 100;

export function StatusLine(props: StatusProps) {
  const { collection, page, isLoading } = props;
  return (
    <div class="grid-status">
      <p role="status">{isLoading ? "Loading…" : page && countLine(page, props)}</p>
      {page?.scan && page.scan.milliseconds >= noticeableMs && !isLoading && (
        <ScanHint collection={collection} scan={page.scan} />
      )}
      <BatchProgress />
      <ExportProgress />
    </div>
  );
}

function countLine({ totalAtLeast }: Summary, { total, whole, isFiltered }: StatusProps): string {
  if (total === undefined) return `More than ${countText(totalAtLeast)}`;
  const isPart = isFiltered && whole !== undefined;
  return isPart ? `${formatNumber(total)} of ${countText(whole)}` : countText(total);
}

function ScanHint({
  collection,
  scan,
}: {
  collection: string;
  scan: NonNullable<Summary["scan"]>;
}) {
  return (
    <p class="scan-hint">
      The server looked through {countText(scan.count)} for this, in{" "}
      {formatSeconds(scan.milliseconds)}.{" "}
      {isAdmin.value && <IndexHint key={scan.count} collection={collection} />}
    </p>
  );
}

/** The newest slow query of the collection is the one that was just sent. */
function IndexHint({ collection }: { collection: string }) {
  const { value } = useLoad("/-/queries", (signal) => get<List<SlowQuery>>("/-/queries", signal));
  const own = (value?.data ?? []).filter((query) => query.collection === collection);
  const newest = own.toSorted((one, other) => other.lastAt.localeCompare(one.lastAt))[0];
  const index = newest?.missingIndexes[0];
  if (index === undefined) return null;
  return (
    <a href={linkTo(["queries"])}>Make it faster with an index on {[index].flat().join(", ")}</a>
  );
}

function ExportProgress() {
  const running = runningExport.value;
  if (running === undefined) return null;
  const { name, rows, bytes, total, cancel } = running;
  return (
    <div class="progress">
      <label>
        {name}: {countText(rows)}, {formatBytes(bytes)}{" "}
        <progress value={total ? Math.min(rows, total) : undefined} max={total} />
      </label>
      <Button kind="quiet" onClick={cancel}>
        Cancel
      </Button>
    </div>
  );
}
