// A thin volume that runs full for a moment: a loop device on a sparse file in a small memory file system.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" }).trim();

const pageBytes = 4096;

export interface ThinVolumeOptions {
  /** Whether the blocks of all bitmaps are there; otherwise the file system itself may fail, too. */
  readonly hasBitmaps: boolean;
}

/** Needs root, loop devices and mkfs.ext4. While it is full, writes to new blocks of the volume fail. */
export class ThinVolume {
  /** Where the file system of the volume is mounted. */
  readonly path: string;
  readonly #backing: string;
  readonly #device: string;

  private constructor(folder: string, { hasBitmaps }: ThinVolumeOptions) {
    this.path = join(folder, "volume");
    this.#backing = join(folder, "backing");
    mkdirSync(this.path);
    mkdirSync(this.#backing);
    run("mount", "-t", "tmpfs", "-o", "size=192m", "none", this.#backing);
    const image = join(this.#backing, "image");
    run("truncate", "-s", "1G", image);
    this.#device = run("losetup", "-f", "--show", image);
    // When only the first part of a request finds room, the loop driver reports success (Linux 6.18):
    // a disk that lies. A request of one page is stored or fails.
    writeFileSync(
      `/sys/block/${basename(this.#device)}/queue/max_sectors_kb`,
      `${pageBytes / 1024}`,
    );
    run("mkfs.ext4", "-q", "-J", "size=4", "-m", "0", this.#device);
    this.#mount();
    this.#useJournal();
    if (hasBitmaps) this.#useBitmaps();
  }

  /** A new one, or why there is none. */
  static make(folder: string, options: ThinVolumeOptions): ThinVolume | string {
    try {
      return new ThinVolume(folder, options);
    } catch (error) {
      for (const name of ["volume", "backing"])
        try {
          run("umount", "--lazy", join(folder, name));
        } catch {}
      return `a thin volume needs root, loop devices and mkfs.ext4 (${error})`;
    }
  }

  /** How many errors the file system has found in itself: then it takes no more writes. */
  get errorCount(): number {
    return Number(readFileSync(`/sys/fs/ext4/${basename(this.#device)}/errors_count`, "utf8"));
  }

  /**
   * Keeps it full for so long, except for some pages, so that a part of a write may still be stored.
   * Meanwhile another process may have everything written to it.
   */
  async starve(ms: number, freePages: number, isSynced: boolean): Promise<void> {
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
    ftruncateSync(descriptor, Math.max(0, fstatSync(descriptor).size - freePages * pageBytes));
    closeSync(descriptor);
    if (isSynced) execFile("sync", ["-f", this.path], () => undefined);
    await sleep(ms);
    rmSync(ballast);
  }

  /** Drops what is only in the page cache: from here on it is as after a restart of the machine. */
  remount(): void {
    const hasFailed = this.errorCount > 0;
    run("umount", this.path);
    if (hasFailed) this.#check();
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

  /** As the docs advise. It exits with 1 when it has corrected something, and more when it could not. */
  #check(): void {
    const { status, stdout } = spawnSync("e2fsck", ["-fy", this.#device], { encoding: "utf8" });
    if (status === null || status > 1) throw new Error(`e2fsck has failed: ${stdout}`);
  }

  #useBitmaps(): void {
    const file = join(this.path, "large");
    run("fallocate", "-l", "900M", file);
    run("sync", "-f", this.path);
    rmSync(file);
    run("sync", "-f", this.path);
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
