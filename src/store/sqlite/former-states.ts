// Reads what is kept of the former states of resources.

import type { FormerRange, FormerState } from "../../model/feed.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

type FormerRow = readonly [id: string, endedAt: number, state: string, revision: number];

export class FormerStateReader {
  readonly #ended: PreparedQuery<FormerRow>;
  readonly #next: PreparedQuery<FormerRow>;

  constructor(connection: Connection) {
    const select = `SELECT id, changed, state, revision, since FROM former_states
       WHERE part = ?1 AND id = ?2 AND revision > ?3`;
    this.#ended = connection.query(`${select} AND revision <= ?4`);
    // The state that follows began when the one before ended, so only the first one can be within the range.
    this.#next = connection.query(
      `SELECT id, changed, state, revision FROM (${select} ORDER BY revision LIMIT 1)
       WHERE since <= ?4`,
    );
  }

  /** Returns states of these resources, in order. */
  of(part: number, ids: readonly string[], { after, upTo }: FormerRange): readonly FormerState[] {
    const last = Math.max(after, upTo);
    return ids
      .flatMap((id) => [
        ...(after < upTo ? this.#ended.all(part, id, after, upTo) : []),
        ...this.#next.all(part, id, last, upTo),
      ])
      .sort((one, other) => one[3] - other[3])
      .map(([id, endedAt, state]) => ({ id, endedAt, state }));
  }
}
