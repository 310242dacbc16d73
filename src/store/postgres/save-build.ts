// Writes the rows of index builds (see core/index-build.ts).

import { phaseOf, type StoredBuild } from "../core/index-build.ts";
import type { Sql, Statement } from "./connection.ts";

export const deleteBuild = (sql: Sql, part: number): Statement =>
  sql`DELETE FROM builds WHERE part = ${part}::bigint`;

/** A build that is done is kept only to show its clashes. */
export function saveBuild(sql: Sql, part: number, build: StoredBuild | undefined): Statement {
  const isDone = build && phaseOf(build.state) === "none" && build.state.clashes.length === 0;
  if (build === undefined || isDone) return deleteBuild(sql, part);
  const state = JSON.stringify(build.state);
  return sql`
    INSERT INTO builds (part, former, state) VALUES (${part}::bigint, ${build.former}, ${state})
    ON CONFLICT (part) DO UPDATE SET former = excluded.former, state = excluded.state`;
}
