// Reads and writes the rows of index builds (see core/index-build.ts).

import { type IndexBuild, phaseOf, type StoredBuild } from "../core/index-build.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

export class BuildReader {
  readonly #find: PreparedQuery<readonly [former: string, state: string]>;

  constructor(connection: Connection) {
    this.#find = connection.query("SELECT former, state FROM builds WHERE part = ?");
  }

  find(part: number): StoredBuild | undefined {
    const row = this.#find.one(part);
    return row && { former: row[0], state: JSON.parse(row[1]) as IndexBuild };
  }
}

export class BuildWriter {
  readonly #save: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#save = connection.query(
      "INSERT OR REPLACE INTO builds (part, former, state) VALUES (?, ?, ?)",
    );
    this.#delete = connection.query("DELETE FROM builds WHERE part = ?");
  }

  /** A build that is done is kept only to show its clashes. */
  save(part: number, build: StoredBuild | undefined): void {
    const isDone = build && phaseOf(build.state) === "none" && build.state.clashes.length === 0;
    if (build === undefined || isDone) this.#delete.run(part);
    else this.#save.run(part, build.former, JSON.stringify(build.state));
  }
}
