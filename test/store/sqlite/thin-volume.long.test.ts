// A volume that fails for a moment under load: after a remount every acknowledged write is stored.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { type Child, inDirectory, startChild } from "./test-directory.ts";
import { ThinVolume } from "./thin-volume.ts";
import { assertAllStored, ReportedWrites } from "./written-content.ts";

const rounds = runs(1, 40);
const windows = 2;

/** The other output of the child process, to explain a failure. */
const remarks = ({ lines }: Child): string =>
  lines.filter((line) => !line.startsWith("kept ")).join("\n");

/** When so many more lines than now have come that start with the word. */
function more(child: Child, word: string, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    child.onLine((line) => {
      if (line.startsWith(word) && --left === 0) resolve();
    });
  });
}

describe("a thin volume that runs full for 30 to 120 ms under load", () => {
  it("loses no acknowledged write", { timeout: 60_000 * rounds }, (context) =>
    inDirectory(async (folder) => {
      const seed = newSeed("thin volume");
      const random = randomNumbers(seed);
      let suspicions = 0;
      let repairs = 0;
      let acknowledged = 0;
      let failedFileSystems = 0;
      for (let round = 0; round < rounds; round++) {
        const place = join(folder, `${round}`);
        await mkdir(place);
        const volume = ThinVolume.make(place, { hasBitmaps: random() < 0.5 });
        if (typeof volume === "string") return context.skip(volume);
        try {
          // Large ones fill the WAL, so that checkpoints come into the window as well.
          const bytes = random() < 0.5 ? 3_000 : 40_000;
          const path = join(volume.path, "data");
          const child = startChild("persist", path, "1000000", `${bytes}`);
          await more(child, "kept", 50 + Math.floor(random() * 200));
          const isSynced = random() < 0.5;
          for (let window = 0; window < windows; window++) {
            const freePages = Math.floor(random() * 8);
            await volume.starve(30 + random() * 90, freePages, isSynced);
            const stuck = more(child, "error the database cannot be copied", 1);
            await Promise.race([more(child, "kept", 100), stuck, sleep(5_000)]);
          }
          child.kill();
          await child.gone;
          const reported = new ReportedWrites(child.lines);
          suspicions += reported.with("error writes are rejected,").length;
          repairs += reported.with("info").length;
          acknowledged += reported.with("kept").length;
          // A file system that has failed takes no more writes, and has lost none either.
          const { errorCount } = volume;
          if (errorCount > 0) failedFileSystems++;
          volume.remount();
          const store = await openSqlite({ path });
          // The one that was under way when it was killed.
          const last = child.lines.filter((line) => / id-\d+$/.test(line)).length;
          const unknown = [...reported.with("unknown"), `id-${last}`];
          await assertAllStored(store, reported.with("kept"), unknown, bytes).catch((error) => {
            const words = `round ${round}, ${bytes} bytes each, ${errorCount} errors of the file system`;
            throw new Error(`${words}\n${remarks(child)}`, { cause: error });
          });
          await store.close();
        } finally {
          volume.remove();
        }
      }
      console.log(
        `${rounds} rounds, ${rounds * windows} windows, ${suspicions} times suspect, ${repairs} repairs, ${acknowledged} acknowledged writes, none lost, ${failedFileSystems} rounds in which the file system failed`,
      );
    }),
  );
});
