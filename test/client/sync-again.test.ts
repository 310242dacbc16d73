// A copy whose position is no longer valid starts again: without an empty moment, and without losing a write.

import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { type AnyCollections, Client } from "../../client/index.ts";
import { type Copy, memory, Sync } from "../../client/sync/index.ts";
import { newSecret } from "../../src/model/secret.ts";
import { startApp, type TestApp } from "../http/app.ts";

const names = (copy: Copy<AnyCollections[string]>) => copy.all().map(({ name }) => name);

const opened = new Set<{ close(): Promise<void> }>();
afterEach(async () => {
  for (const one of opened) await one.close();
});

/** Rounds only when they are asked for. */
async function open(api: Client, storage = memory()) {
  const sync = await Sync.open(api, { storage, everyMs: 3_600_000, waitMs: 1 });
  opened.add(sync);
  return sync;
}

/** Everything that was shown after each change. */
function watch(copy: Copy<AnyCollections[string]>): Set<string> {
  const shown = new Set<string>();
  copy.subscribe(() => shown.add(names(copy).join()));
  return shown;
}

describe("a copy that starts again", () => {
  it("after its collection was created again shows the former rows until it is complete", async () => {
    const app = await startApp();
    try {
      const api = new Client(app.url, { token: app.admin });
      const notes = api.collection("notes");
      for (const name of ["a", "b", "c"]) await notes.replace(name, { name });
      const sync = await open(api);
      const copy = await sync.copy("notes").ready();
      const shown = watch(copy);
      await app.request("/-/collections/notes?confirm=notes", { method: "DELETE" });
      for (const name of ["b", "d"]) await notes.replace(name, { name });
      const mine = await sync.create("notes", { name: "mine" });
      await sync.update("notes", "c", { name: "changed" });
      await sync.now();
      assert.equal(copy.state, "ready");
      const [conflict] = sync.conflicts;
      assert.deepEqual([conflict?.problem.status, conflict?.current], [404, undefined]);
      assert.deepEqual(
        copy.all().map(({ id }) => id),
        [mine.id, "b", "d"],
      );
      for (const list of shown) assert.match(list, /b/);
      if (conflict) await sync.resolve(conflict, "mine");
      await sync.now();
      assert.deepEqual(names(copy), ["mine", "b", "changed", "d"]);
    } finally {
      await app.stop();
    }
  });

  it("goes on after the program has ended in the middle of it", async () => {
    const app = await startApp();
    try {
      let pages = Number.POSITIVE_INFINITY;
      const counted = async (input: string | URL | Request, init?: RequestInit) => {
        if (String(input).includes("since") && pages-- <= 0) throw new TypeError("cut");
        // One change on a page.
        return fetch(String(input).replace("limit=1000", "limit=1"), init);
      };
      const api = new Client(app.url, { token: app.admin, fetch: counted as typeof fetch });
      const notes = api.collection("notes");
      for (const name of ["a", "b", "c"]) await notes.replace(name, { name });
      const storage = memory();
      const first = await open(api, storage);
      first.copy("notes");
      await first.now();
      await app.request("/-/collections/notes?confirm=notes", { method: "DELETE" });
      for (const name of ["b", "d", "e"]) await notes.replace(name, { name });
      // The one that is gone, and one of the new round.
      pages = 2;
      await first.now();
      assert.equal(first.status, "offline");
      assert.deepEqual(names(first.copy("notes")), ["a", "b", "c"]);
      await first.close();
      pages = Number.POSITIVE_INFINITY;
      const second = await open(api, storage);
      const copy = second.copy("notes");
      assert.deepEqual([names(copy), copy.state], [["a", "b", "c"], "ready"]);
      await second.now();
      assert.deepEqual(names(copy), ["b", "d", "e"]);
    } finally {
      await app.stop();
    }
  });

  it("after a restored backup has what the backup has, and the writes that were pending", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-sync-"));
    const data = join(folder, "data");
    const adminToken = newSecret();
    let app: TestApp = await startApp({ data, adminToken });
    try {
      let isOn = true;
      const current = async (input: string | URL | Request, init?: RequestInit) => {
        if (!isOn) throw new TypeError("cut");
        return fetch(String(input).replace("http://server", app.url), init);
      };
      const api = new Client("http://server", {
        token: adminToken,
        fetch: current as typeof fetch,
      });
      const notes = api.collection("notes");
      const restart = async (between: () => Promise<void>) => {
        await app.stop();
        await between();
        app = await startApp({ data, adminToken });
      };
      await notes.replace("a", { name: "a" });
      await restart(() => cp(data, join(folder, "backup"), { recursive: true }));
      await notes.replace("b", { name: "b" });
      const sync = await open(api);
      const copy = await sync.copy("notes").ready();
      assert.deepEqual(names(copy), ["a", "b"]);
      isOn = false;
      await sync.update("notes", "a", { name: "mine" });
      await sync.update("notes", "b", { name: "lost" });
      await sync.now();
      await restart(async () => {
        await rm(data, { recursive: true });
        await cp(join(folder, "backup"), data, { recursive: true });
      });
      isOn = true;
      await notes.replace("c", { name: "c" });
      await sync.now();
      assert.deepEqual(names(copy), ["mine", "c"]);
      const [conflict, ...others] = sync.conflicts;
      assert.deepEqual([conflict?.write.id, conflict?.base?.name, others], ["b", "b", []]);
    } finally {
      await app.stop();
      await rm(folder, { recursive: true });
    }
  });
});
