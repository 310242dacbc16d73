// Reads and writes the rows of position trees (see core/position-tree.ts).

import { fanOut, type ReadRow, type TreeWrite } from "../core/position-tree.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

type AliveRow = readonly [alive: Uint8Array];

export class PositionReader {
  readonly #find: PreparedQuery<AliveRow>;

  constructor(connection: Connection) {
    this.#find = connection.query(
      "SELECT alive FROM positions WHERE part = ? AND level = ? AND row = ?",
    );
  }

  /** Returns a function that reads the tree of a part. */
  of(part: number): ReadRow {
    return ({ level, row }) => {
      const found = this.#find.one(part, level, row);
      return found && decodeCounts(found[0]);
    };
  }
}

export class PositionWriter {
  readonly #save: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#save = connection.query(
      "INSERT OR REPLACE INTO positions (part, level, row, alive) VALUES (?, ?, ?, ?)",
    );
    this.#delete = connection.query(
      "DELETE FROM positions WHERE part = ? AND level = ? AND row = ?",
    );
  }

  write(part: number, { level, row, alive }: TreeWrite): void {
    if (alive) this.#save.run(part, level, row, encode(alive));
    else this.#delete.run(part, level, row);
  }
}

const counts = fanOut + 1;

/** Four bytes for each count, or eight where they are needed. Little-endian, as all supported platforms. */
function encode(alive: readonly number[]): Uint8Array {
  const fits = (alive[fanOut] ?? 0) < 2 ** 32;
  return new Uint8Array((fits ? Uint32Array.from(alive) : Float64Array.from(alive)).buffer);
}

export function decodeCounts(bytes: Uint8Array): readonly number[] {
  // Copied, because the bytes need not be aligned.
  const { buffer } = new Uint8Array(bytes);
  const isShort = buffer.byteLength === counts * Uint32Array.BYTES_PER_ELEMENT;
  return Array.from(isShort ? new Uint32Array(buffer) : new Float64Array(buffer));
}
