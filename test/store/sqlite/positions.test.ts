// Rows of position trees are stored and read with counts of any size.

import assert from "node:assert/strict";
import { it } from "node:test";
import { locate, removePositions } from "../../../src/store/core/position-tree.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { PositionReader, PositionWriter } from "../../../src/store/sqlite/positions.ts";
import { createTables } from "../../../src/store/sqlite/schema.ts";
import { inDirectory } from "./test-directory.ts";

const part = 2 ** 51 + 1;

it("positions are found among more than 32 bits can count, and in their own part", () =>
  inDirectory(async (path) => {
    const connection = new Connection(prepareFile(path).path, "write");
    createTables(connection);
    const tree = new PositionReader(connection).of(part);
    const writer = new PositionWriter(connection);
    for (const positions of [
      [0, 1],
      [2 ** 40, 2 ** 40 + 1],
      [70, 2 ** 40 + 70],
    ])
      for (const row of removePositions(tree, positions)) writer.write(part, row);
    // A row of a range without resources is deleted.
    const gone = Array.from({ length: 64 }, (_, index) => 6_400 + index);
    for (const row of removePositions(tree, gone)) writer.write(part, row);
    assert.equal(tree({ level: 0, row: 100 }), undefined);
    const positions = 2 ** 40 + 100;
    const found = [
      [0, 2],
      [67, 69],
      [68, 71],
      [6_397, 6_464],
      [2 ** 40 - 68, 2 ** 40 - 1],
      [2 ** 40 - 67, 2 ** 40 + 2],
      [2 ** 40 + 1, 2 ** 40 + 71],
    ] as const;
    for (const [index, position] of found) assert.equal(locate(tree, index, positions), position);
    assert.equal(locate(new PositionReader(connection).of(part + 1), 5, 10), 5);
    connection.close();
  }));
