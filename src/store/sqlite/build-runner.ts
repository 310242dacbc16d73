// Finds the parts whose index rows have to follow a definition, and runs the steps.

import {
  firstFullSteps,
  type IndexBuild,
  isFailed,
  isFullStep,
  isNewPlan,
  phaseOf,
  rowsOf,
} from "../core/index-build.ts";
import { firstRows, StepSize } from "../core/step-size.ts";
import type { Clash } from "../store.ts";
import { BuildReader } from "./builds.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { IndexBuilder } from "./index-builder.ts";
import type { RowWriter } from "./row-writer.ts";

/** Threads on the same core wait for a step, and a step that is much shorter makes the build slow. */
const stepTimes = { targetMs: 10, longestMs: 50 };

/** A build that is not done, with its collection. */
export interface RunningBuild {
  readonly part: number;
  readonly name: string;
  readonly definition: string;
  readonly version: number;
  readonly build: IndexBuild;
}

export class BuildRunner {
  readonly #rows: RowWriter;
  readonly #indexes: IndexBuilder;
  readonly #size = new StepSize(stepTimes);
  readonly #builds: BuildReader;
  readonly #parts: PreparedQuery<readonly [part: number]>;
  readonly #collection: PreparedQuery<readonly [name: string, definition: string, version: number]>;
  readonly #updateHead: PreparedQuery<never>;
  readonly #updateCollection: PreparedQuery<never>;
  /** The rows of the last step. */
  #stepRows = 0;

  constructor(connection: Connection, rows: RowWriter) {
    this.#rows = rows;
    this.#indexes = new IndexBuilder(connection, rows);
    this.#builds = new BuildReader(connection);
    this.#parts = connection.query("SELECT part FROM builds ORDER BY part");
    this.#collection = connection.query(
      "SELECT name, definition, version FROM collections WHERE part = ?",
    );
    this.#updateHead = connection.query("UPDATE heads SET version = ? WHERE part = ?");
    this.#updateCollection = connection.query("UPDATE collections SET version = ? WHERE part = ?");
  }

  next(): RunningBuild | undefined {
    for (const [part] of this.#parts.all()) {
      const running = this.#find(part);
      if (running && phaseOf(running.build) !== "none") return running;
    }
    return undefined;
  }

  /** Runs the first steps with the definition. Returns the clashes when its values are not unique. */
  begin(part: number): readonly Clash[] | undefined {
    for (let fullSteps = 0; fullSteps < firstFullSteps; ) {
      const running = this.#find(part);
      if (!running || phaseOf(running.build) === "none") return undefined;
      const state = this.#advance(running, firstRows);
      if (isFullStep(running.build, state)) fullSteps++;
      if (isFailed(state)) return state.clashes;
    }
    return undefined;
  }

  /** Runs one step. Returns whether readers and writers use other indexes from now on. */
  step(running: RunningBuild): boolean {
    const { part, version, build } = running;
    const rows = this.#size.rowsFor(`${part} ${phaseOf(build)}`);
    const state = this.#advance(running, rows);
    this.#stepRows = rowsOf(build, state) || rows;
    if (!isNewPlan(build, state)) return false;
    this.#updateHead.run(version + 1, part);
    this.#updateCollection.run(version + 1, part);
    return true;
  }

  /** Called with the duration of a step and its commit: the next one is larger or smaller. */
  measured(ms: number): void {
    this.#size.adjust(ms, this.#stepRows);
  }

  #advance({ part, definition, build }: RunningBuild, rows: number): IndexBuild {
    const state = this.#indexes.step(part, definition, build, rows);
    this.#rows.builds.save(part, state);
    return state;
  }

  #find(part: number): RunningBuild | undefined {
    const build = this.#builds.find(part);
    const row = build && this.#collection.one(part);
    if (!build || !row) return undefined;
    const [name, definition, version] = row;
    return { part, name, definition, version, build };
  }
}
