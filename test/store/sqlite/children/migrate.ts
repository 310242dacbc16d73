// Applies the given number of migration steps; each creates a table and fills it in several statements.

import { Connection } from "../../../../src/store/sqlite/connection.ts";
import { type Step, upgradeOld } from "../../../../src/store/sqlite/old-schema.ts";

const [file = "", count = "0"] = process.argv.slice(2);

const makeTable =
  (number: number): Step =>
  (connection) => {
    connection.run(`CREATE TABLE step_${number} (row INTEGER)`);
    for (let row = 0; row < 20; row++) connection.run(`INSERT INTO step_${number} VALUES (${row})`);
  };

upgradeOld(
  new Connection(file, "write"),
  Array.from({ length: Number(count) }, (_, index) => makeTable(index + 1)),
);
