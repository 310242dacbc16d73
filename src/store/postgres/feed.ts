// Reads what was written or removed in a collection since a position.

import {
  type Feed,
  type FeedRange,
  type InvalidPosition,
  ownerWindow,
  type Removal,
} from "../../model/feed.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Resource } from "../../model/resource.ts";
import { epochName, reachedBy, readEpochName } from "../core/epochs.ts";
import { type CollectionRow, toCollection } from "./collections.ts";
import { rows, type Sql, type Statement, type Value } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { readFormerStates } from "./former-states.ts";
import { readWithFields } from "./large-fields.ts";
import {
  type FirstRow,
  headColumns,
  headOf,
  resourceColumns,
  resourceOf,
  rowsWithin,
} from "./row.ts";

/** A removed resource has neither fields nor a checksum. */
type FeedRow = FirstRow | RemovalRow;
type RemovalRow = readonly [
  ...(readonly [id: string, revision: number, removed: number, removedAt: number, fields: null]),
  ...(readonly [owner: null, files: null, sharesDate: number, checksum: null]),
  ...Value[],
];

/** Additional columns in the row of the head, to check a feed position. */
type PositionColumns = readonly [
  /** The last revision of the position's epoch; null when that is the current epoch or unknown. */
  end: number | null,
  /** The time of the position's revision; null when the resource was written again. */
  time: number | null,
  /** The last revision whose removal may no longer be stored. */
  purged: number,
];

/** Where the row of a change has the number of changes, of which `maxBytes` may leave out some. */
const amongColumn = 11;

/** Returns undefined when the part was deleted. */
export async function readFeed(
  sql: Sql,
  row: CollectionRow,
  position: FeedPosition | 0,
  { limit, maxBytes, owner, former }: FeedRange,
): Promise<Versioned<Feed | InvalidPosition> | undefined> {
  const { part } = row;
  const revision = position === 0 ? 0 : position.revision;
  const window = { after: revision, end: owner === undefined ? undefined : revision + ownerWindow };
  const [positionPart, positionEpoch] = readEpochName(position === 0 ? "0.0" : position.epoch);
  const among = maxBytes === undefined ? sql`0::bigint` : sql`among`;
  const changes = changesIn(sql, part, { ...window, limit, owner });
  const select = (columns: Statement) => sql`
    SELECT ${headColumns(sql)}, 0 AS place,
      (SELECT last FROM epochs
        WHERE part = ${part}::bigint AND epoch = ${positionEpoch}::bigint),
      ${timeOf(sql, part, revision)}, purged
    FROM heads WHERE part = ${part}::bigint
    UNION ALL
    (
      SELECT ${columns}, 0::bigint, revision, ${among}, 0::bigint, 0::bigint
      FROM ${rowsWithin(sql, changes, sql`revision`, maxBytes)} AS page
    )
    ORDER BY place`;
  const [first, ...found] = await readWithFields<FeedRow>(sql, part, { maxBytes, select });
  if (!first) return undefined;
  const head = headOf(first as FirstRow);
  const { version, epoch } = head;
  const [epochEnd, time, purged] = first.slice(amongColumn) as unknown as PositionColumns;
  if (position !== 0) {
    const last = epoch === positionEpoch ? head.revision : epochEnd;
    const isKnown = part === positionPart && last !== null && revision <= last;
    const isSameTime = position.time === 0 || time === null || time === position.time;
    if (!isKnown || !isSameTime) return { version, value: "gone" };
    const reached = former?.after ?? reachedBy(position);
    if (purged > reached) return { version, value: "expired" };
  }
  const ids = found.map(([id]) => id);
  const formerStates = former && (await readFormerStates(sql, part, ids, former));
  if (former && !formerStates) return { version, value: "expired" };
  const { end = head.revision } = window;
  const isCut = found.length < Number(found[0]?.[amongColumn] ?? 0);
  const value: Feed = {
    collection: toCollection(row, head),
    epoch: epochName(part, epoch),
    entries: found.map(toEntry),
    ...(isCut && { isCut }),
    ...(formerStates && { formerStates }),
    ...(end < head.revision && { end }),
  };
  return { version, value };
}

/** Selects the time of the change with this revision, if it is the last one of its resource. */
const timeOf = (sql: Sql, part: number, revision: number): Statement => sql`coalesce(
  (SELECT updated FROM resources
    WHERE part = ${part}::bigint AND revision BETWEEN ${revision}::bigint AND ${revision}::bigint
    ORDER BY revision LIMIT 1),
  (SELECT removed FROM tombstones
    WHERE part = ${part}::bigint AND revision BETWEEN ${revision}::bigint AND ${revision}::bigint
    ORDER BY revision LIMIT 1)
)`;

interface ChangeRange {
  readonly after: number;
  /** The last revision; undefined for all. */
  readonly end: number | undefined;
  readonly limit: number;
  readonly owner: string | undefined;
}

/** Selects resources and removals in order of revision. A removal has its time in `updated`, and no fields. */
function changesIn(sql: Sql, part: number, { after, end, limit, owner }: ChangeRange): Statement {
  const inRange = sql`
    AND revision > ${after}::bigint
      ${end === undefined ? sql`` : sql`AND revision <= ${end}::bigint`}
      ${owner === undefined ? sql`` : sql`AND owner = ${owner}`}
    ORDER BY revision LIMIT ${limit}::bigint`;
  const removed = (table: string, time: Statement) => sql`
    SELECT id, revision, ${time}, ${time}, NULL, NULL, NULL, 0::bigint, NULL::bigint
    FROM ${sql(table)} WHERE part = ${part}::bigint ${inRange}`;
  return sql`
    SELECT * FROM (
      (SELECT ${resourceColumns(sql)} FROM resources
        WHERE part = ${part}::bigint ${inRange})
      UNION ALL
      (${removed("tombstones", sql`removed`)})
      ${owner === undefined ? sql`` : sql`UNION ALL (${removed("former_owners", sql`changed`)})`}
    ) AS change
    ORDER BY revision LIMIT ${limit}::bigint`;
}

function toEntry(row: FeedRow): Resource | Removal {
  if (hasContent(row)) return resourceOf(row);
  const [id, revision, , removedAt] = row;
  return { kind: "removal", id, revision, removedAt };
}

const hasContent = (row: FeedRow): row is FirstRow => row[4] !== null;

export async function readSecret(sql: Sql): Promise<string> {
  const [row] = await rows<readonly [string]>(sql`SELECT id FROM store WHERE one`);
  return row?.[0] ?? "";
}
