// Writes the rows of index builds (see core/index-build.ts).

import { type IndexBuild, isDone } from "../core/index-build.ts";
import type { Sql, Statement } from "./connection.ts";

export const deleteBuild = (sql: Sql, part: number): Statement =>
  sql`DELETE FROM builds WHERE part = ${part}::bigint`;

export const saveBuild = (sql: Sql, part: number, build: IndexBuild | undefined): Statement =>
  build === undefined || isDone(build)
    ? deleteBuild(sql, part)
    : sql`
    INSERT INTO builds (part, state) VALUES (${part}::bigint, ${JSON.stringify(build)})
    ON CONFLICT (part) DO UPDATE SET state = excluded.state`;
