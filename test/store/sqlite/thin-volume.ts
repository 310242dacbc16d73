// A thin volume that runs full for a moment: a loop device on a sparse file in a small memory file system.

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" }).trim();

/** Needs root, loop devices and mkfs.ext4. While it is full, writes to new blocks of the volume fail. */
export class ThinVolume {
  /** Where the file system of the volume is mounted. */
  readonly path: string;
  readonly #backing: string;
  readonly #device: string;

  private constructor(folder: string) {
    this.path = join(folder, "volume");
    this.#backing = join(folder, "backing");
    mkdirSync(this.path);
    mkdirSync(this.#backing);
    run("mount", "-t", "tmpfs", "-o", "size=192m", "none", this.#backing);
    const image = join(this.#backing, "image");
    run("truncate", "-s", "1G", image);
    this.#device = run("losetup", "-f", "--show", image);
    run("mkfs.ext4", "-q", "-J", "size=4", "-m", "0", this.#device);
    this.#mount();
    this.#useJournal();
  }

  /** A new one, or why there is none. */
  static make(folder: string): ThinVolume | string {
    try {
      return new ThinVolume(folder);
    } catch (error) {
      for (const name of ["volume", "backing"])
        try {
          run("umount", "--lazy", join(folder, name));
        } catch {}
      return `a thin volume needs root, loop devices and mkfs.ext4 (${error})`;
    }
  }

  /** Lets it be full for so long. */
  async starve(ms: number): Promise<void> {
    const ballast = join(this.#backing, "ballast");
    const descriptor = openSync(ballast, "w");
    try {
      const { bavail, bsize } = statfsSync(this.#backing);
      const chunk = new Uint8Array(1024 * 1024);
      for (let left = bavail * bsize; left > 0; left -= chunk.length)
        writeSync(descriptor, chunk, 0, Math.min(left, chunk.length));
    } catch {
      // Full is what it should be.
    }
    closeSync(descriptor);
    await sleep(ms);
    rmSync(ballast);
  }

  /** Drops what is only in the page cache: from here on it is as after a restart of the machine. */
  remount(): void {
    run("umount", this.path);
    this.#mount();
  }

  remove(): void {
    for (const act of [
      () => run("umount", "--lazy", this.path),
      () => run("losetup", "-d", this.#device),
      () => run("umount", "--lazy", this.#backing),
    ])
      try {
        act();
      } catch {}
  }

  #mount(): void {
    run("mount", "-o", "errors=continue", this.#device, this.path);
  }

  /** Writes through the whole journal of the file system once, so that its blocks are there. */
  #useJournal(): void {
    const folder = join(this.path, "journal");
    for (let round = 0; round < 40; round++) {
      mkdirSync(folder);
      for (let name = 0; name < 100; name++) mkdirSync(join(folder, `${name}`));
      run("sync", "-f", this.path);
      rmSync(folder, { recursive: true });
      run("sync", "-f", this.path);
    }
  }
}
