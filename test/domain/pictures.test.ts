// The queue of pictures: equal requests share one rendering, callers take turns, and too many are rejected.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { Pictures } from "../../src/domain/pictures.ts";
import { everything } from "../../src/domain/view.ts";
import type { Rules } from "../../src/model/collection.ts";
import type { StoredFile } from "../../src/model/file.ts";
import { Outage } from "../../src/model/outage.ts";
import { system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { PictureCache } from "../../src/store/pictures/cache.ts";
import { type PictureJob, pictureLimits } from "../../src/store/pictures/job.ts";
import { NoRenderer } from "../../src/store/pictures/renderer.ts";
import { countOpen } from "../store/disk/file-helpers.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(() => rm(folder, { recursive: true }));

const rules = { definition: '{"pictures":{"sizes":[{"width":1}]}}' } as Rules;
const access = new CollectionAccess(system, "photos", rules, everything);
const request = { width: 1, fit: "cover", format: undefined } as const;

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(10);
}

/** Renders when it is told to, and notes in which order. */
class SlowRenderer {
  readonly started: string[] = [];
  #go: () => void = () => undefined;
  readonly #gate = new Promise<void>((resolve) => {
    this.#go = resolve;
  });

  release(): void {
    this.#go();
  }

  async run({ output }: PictureJob): Promise<undefined> {
    this.started.push(output);
    await this.#gate;
    const made = Buffer.from("made");
    await writeFile(output, Buffer.concat([createHash("sha256").update(made).digest(), made]));
  }

  close(): void {}
}

const files = () => openDisk(join(folder, "files"));

async function upload(): Promise<StoredFile> {
  const saved = await files().save(bytes(), 100);
  assert.ok(saved !== "too-large");
  return { ...saved, slot: "a", name: "a.png", type: "image/png" };
}

const cache = () => new PictureCache(join(folder, "pictures"), 1_000_000);
const open = (renderer: Pick<SlowRenderer, "run" | "close">, kept = cache()) =>
  new Pictures(files(), kept, renderer);

/** A cache that tells when something was not found in it: then it is queued in the same turn. */
function notedCache() {
  const [kept, missed] = [cache(), Promise.withResolvers<void>()];
  const read = kept.read.bind(kept);
  const state = { key: "none", missed: missed.promise };
  kept.read = async (name) => {
    const found = await read(name);
    if (name.startsWith(state.key)) void setImmediate().then(missed.resolve);
    return found;
  };
  return { kept, state };
}

describe("pictures", () => {
  it("that are asked for at the same time are rendered once, and kept for the next start", async () => {
    const renderer = new SlowRenderer();
    const pictures = open(renderer);
    const file = await upload();
    const all = [1, 2, 3].map((n) => pictures.render(access, file, request, `caller ${n}`));
    renderer.release();
    for (const made of await Promise.all(all))
      assert.ok(made !== undefined && !(made instanceof Problem) && made.bytes.length === 4);
    assert.equal(renderer.started.length, 1);
    const next = open({ run: () => assert.fail("it is kept"), close: () => undefined });
    assert.ok(!((await next.render(access, file, request, "")) instanceof Problem));
  });

  it("of one caller wait in turn with those of others, and too many are 503", async () => {
    const renderer = new SlowRenderer();
    const { kept, state } = notedCache();
    const pictures = open(renderer, kept);
    const order: string[] = [];
    const ask = async (caller: string, file?: StoredFile) => {
      const made = await pictures.render(access, file ?? (await upload()), request, caller);
      order.push(caller);
      return made;
    };
    const crowd = Array.from({ length: 60 }, () => ask("many"));
    const rejected = await Promise.race(crowd);
    assert.ok(rejected instanceof Problem && rejected.kind === "unavailable");
    const file = await upload();
    state.key = file.key;
    const other = ask("few", file);
    await state.missed;
    order.length = 0;
    renderer.release();
    await Promise.all([...crowd, other]);
    assert.ok(order.indexOf("few") >= 0 && order.indexOf("few") < 25, `${order.indexOf("few")}`);
  });

  it("are read only where there is room for them in memory", async () => {
    const renderer = new SlowRenderer();
    const pictures = open(renderer);
    renderer.release();
    const file = await upload();
    for (const room of [3, 3, 1_000]) {
      const hasRoom = (bytes: number) => bytes <= room;
      const made = await pictures.render(access, file, request, "", hasRoom);
      if (room === 3) assert.equal(made instanceof Problem && made.kind, "unavailable");
      else assert.ok(made && "bytes" in made);
    }
    await pictures.close();
  });

  it("of a file that is removed meanwhile are missing, as the file is", async () => {
    const renderer = new SlowRenderer();
    const pictures = open(renderer);
    const file = await upload();
    const made = pictures.render(access, file, request, "");
    while (renderer.started.length === 0) await setImmediate();
    await files().remove([file.key]);
    await pictures.forget([file.key]);
    renderer.release();
    assert.equal(await made, undefined);
  });

  it("of files that are too large leave no file open", async () => {
    const file = { ...(await upload()), size: pictureLimits.maxBytes + 1 };
    const made = await open(new SlowRenderer()).render(access, file, request, "");
    assert.ok(made instanceof Problem && made.kind === "unprocessable-picture");
    if (platform() === "linux") assert.equal(countOpen(join(folder, "files")), 0);
  });

  it("of files that cannot be written for the renderer leave no file open", async () => {
    const blocked = join(folder, "blocked");
    await mkdir(blocked);
    await writeFile(join(blocked, "incoming"), "a file where a folder is expected");
    const file = await upload();
    const pictures = open(new SlowRenderer(), new PictureCache(blocked, 1_000_000));
    await assert.rejects(pictures.render(access, file, request, ""), Outage);
    if (platform() === "linux") assert.equal(countOpen(join(folder, "files")), 0);
  });

  it("are 501 where they cannot be rendered", async () => {
    const pictures = open({
      run: () => Promise.reject(new NoRenderer()),
      close: () => undefined,
    });
    const made = await pictures.render(access, await upload(), request, "");
    assert.ok(made instanceof Problem && made.kind === "not-implemented");
  });
});
