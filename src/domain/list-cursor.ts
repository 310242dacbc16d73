// Makes and reads the cursors of lists. Those of callers who see a part are encrypted.

import type { Collection } from "../model/collection.ts";
import { inFixedOrder, queryHash, readCursor, writeCursor } from "../model/query/cursor.ts";
import type { ListRequest } from "../model/query/list-request.ts";
import type { Position, Query } from "../model/query/query.ts";
import type { CursorSeal } from "./sealed-cursor.ts";

/** Returns the cursor that begins after a position. */
export function cursorAt(
  collection: Collection,
  { query, listRequest, seal }: CursorQuery,
  position: Position,
): string {
  const cursor = writeCursor(position, fingerprintOf(collection, { query, listRequest, seal }));
  return seal ? seal.close(cursor) : cursor;
}

/** Returns the position in a cursor, or what is wrong with it. */
export function positionIn(
  text: string,
  collection: Collection,
  asked: CursorQuery,
): ReturnType<typeof readCursor> {
  const cursor = asked.seal ? asked.seal.open(text) : text;
  if (cursor === undefined) return "foreign";
  return readCursor(cursor, fingerprintOf(collection, asked), asked.query.sortings.length);
}

interface CursorQuery {
  readonly query: Query;
  readonly listRequest: ListRequest;
  readonly seal: CursorSeal | undefined;
}

/**
 * A cursor is valid only for a query with the same fingerprint. The conditions of rules change with the
 * caller's values, so that only the caller's own conditions count where they are.
 */
function fingerprintOf(
  { name, createdAt }: Collection,
  { query, listRequest, seal }: CursorQuery,
): string {
  const { sortings, isNewestFirst } = query;
  const [conditions, words] = [inFixedOrder(query.conditions), inFixedOrder(query.words)];
  if (seal === undefined)
    return queryHash([name, createdAt, conditions, words, sortings, isNewestFirst]);
  const { filters, where, sort } = listRequest;
  const asked = inFixedOrder(
    filters.map(({ field, operator, operand }) => [field, operator, operand]),
  );
  const order = sort.map(({ field, isDescending }) => [field, isDescending]);
  return queryHash([name, createdAt, asked, where?.value, words, order]);
}
