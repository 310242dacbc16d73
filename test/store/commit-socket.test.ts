// The socket of a data folder: requests reach the owner, and none is left without an answer when it ends.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Outage } from "../../src/model/outage.ts";
import { connectToOwner, listenForCommits, OtherVersion } from "../../src/store/commit-socket.ts";
import type { CommitOwner } from "../../src/store/remote-committer.ts";
import { put } from "./contract/change-helpers.ts";

const scrubbing = { isFirst: true, isFull: false };
const erasure = { changes: [], removed: [], subject: "ann" };

describe("the socket of a data folder", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("carries commits, erasures and scrubs, and rejects them when the owner has ended", async () => {
    const owner: CommitOwner = {
      commit: async (changes) => changes.map(() => ({ kind: "done" })),
      erase: async ({ subject }) => ({ kind: "erased", collections: [], tokens: subject ? 3 : 0 }),
      scrub: async () => ({ kind: "rewrite", bytes: 7 }),
    };
    const listener = await listenForCommits(folder, "1", owner);
    await assert.rejects(connectToOwner(folder, "2"), OtherVersion);
    const committer = await connectToOwner(folder, "1");
    assert.ok(committer);
    assert.deepEqual(await committer.commit([put("a")]), [{ kind: "done" }]);
    assert.deepEqual(await committer.erase(erasure), {
      kind: "erased",
      collections: [],
      tokens: 3,
    });
    assert.deepEqual(await committer.scrub(scrubbing), { kind: "rewrite", bytes: 7 });
    await listener.close();
    // The first may be sent before the end of the owner is noticed.
    for (let n = 0; n < 2; n++) {
      await assert.rejects(committer.scrub(scrubbing), Outage);
      await assert.rejects(committer.erase(erasure), Outage);
      await assert.rejects(committer.commit([put("a")]), Outage);
    }
    assert.equal(await connectToOwner(folder, "1"), undefined);
  });

  it("ends where its file cannot be removed", async () => {
    const never = () => Promise.reject(new Error("never"));
    const listener = await listenForCommits(folder, "1", {
      ...{ commit: never, erase: never, scrub: never },
    });
    await rm(join(folder, "restante.sock"));
    await mkdir(join(folder, "restante.sock"));
    await listener.close();
    await rmdir(join(folder, "restante.sock"));
  });
});
