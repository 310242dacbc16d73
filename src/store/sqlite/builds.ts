// Reads and writes the rows of index builds (see core/index-build.ts).

import { type IndexBuild, isDone } from "../core/index-build.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

export class BuildReader {
  readonly #find: PreparedQuery<readonly [state: string]>;

  constructor(connection: Connection) {
    this.#find = connection.query("SELECT state FROM builds WHERE part = ?");
  }

  find(part: number): IndexBuild | undefined {
    const row = this.#find.one(part);
    return row && JSON.parse(row[0]);
  }
}

export class BuildWriter {
  readonly #save: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#save = connection.query("INSERT OR REPLACE INTO builds (part, state) VALUES (?, ?)");
    this.#delete = connection.query("DELETE FROM builds WHERE part = ?");
  }

  save(part: number, build: IndexBuild | undefined): void {
    if (build === undefined || isDone(build)) this.#delete.run(part);
    else this.#save.run(part, JSON.stringify(build));
  }
}
