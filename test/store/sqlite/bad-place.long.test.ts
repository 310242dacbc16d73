// Disks with a place that stays bad: writes go on in other files, and nothing is lost.
// @runtimes both

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { inDirectory, startChildUnder } from "./test-directory.ts";
import { assertAllStored, ReportedWrites } from "./written-content.ts";

const source = fileURLToPath(new URL("./bad-place.c", import.meta.url));

/** Returns why there is none. */
function compile(library: string): string | undefined {
  try {
    execFileSync("gcc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "gcc is not here, which compiles what makes a place of a file bad";
  }
}

const pageBytes = 4096;
/** More than one commit of the WAL. */
const badBytes = 64 * 1024;
/** In the WAL a commit begins there, so that whatever is written next to the old file fails, too. */
const firstPage = 74;

describe("a place that stays bad", () => {
  // The bytes are enough for some checkpoints where it is in the database itself.
  const cases = [
    ["the WAL", "restante.db-wal", 60, 2_000, 100],
    ["the database", "restante.db", 120, 200_000, 1_000],
  ] as const;

  for (const [title, name, count, bytes, pages] of cases)
    it(`in ${title}`, (context) =>
      inDirectory(async (path) => {
        const library = join(path, "bad-place.so");
        const reason = compile(library);
        if (reason) return context.skip(reason);
        const random = randomNumbers(newSeed(title));
        for (let run = 0; run < runs(2, 20); run++) {
          const folder = join(path, `${run}`);
          await mkdir(folder);
          const store = await openSqlite({ path: folder });
          await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
          await store.close();
          // Behind what is there, so that it is written. A store whose first write fails does not open.
          const { size } = await stat(join(folder, "restante.db"));
          const start = name === "restante.db" ? size : 0;
          const page = run === 0 ? firstPage : Math.floor(random() * pages);
          const from = start + (16 + page) * pageBytes;
          const place = [`BAD_NAME=/${name}`, `BAD_FROM=${from}`, `BAD_TO=${from + badBytes}`];
          const child = startChildUnder(
            ["env", `LD_PRELOAD=${library}`, ...place],
            ...(["persist", folder, `${count}`, `${bytes}`] as const),
          );
          assert.equal(await child.gone, 0, child.lines.join("\n"));
          const reported = new ReportedWrites(child.lines);
          const errors = reported.with("error").join("\n");
          assert.match(errors, /writes are rejected/, `nothing has failed at ${from}`);
          const kept = reported.with("kept");
          assert.ok(kept.length >= count - 4, `${kept.length} of ${count}`);
          const again = await openSqlite({ path: folder });
          await assertAllStored(again, kept, reported.with("unknown"), bytes);
          await again.close();
        }
      }));
});
