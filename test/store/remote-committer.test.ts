// Commits through another process: the contract tests, and failures of the connection.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Outage } from "../../src/model/outage.ts";
import type { Erasing } from "../../src/store/erasure.ts";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import {
  type CommitOwner,
  RemoteCommitter,
  runCommitRequest,
} from "../../src/store/remote-committer.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Outcome } from "../../src/store/store.ts";
import { ReusedEngine, storeContractVariant, testFileQuotas, testMaxCounted } from "./contract.ts";

/** What becomes of a message on its way from process to process. */
const sent = <T>(message: T): T => JSON.parse(JSON.stringify(message));

const noErasing: Erasing = {
  erase: () => assert.fail("nothing is erased"),
  scrub: () => assert.fail("nothing is erased"),
};

/** One that has its commits done by the other end, as the processes do it. */
function handTo(commit: CommitOwner["commit"], erasing: Erasing = noErasing): RemoteCommitter {
  const committer = new RemoteCommitter((request) => {
    void runCommitRequest({ ...erasing, commit }, sent(request)).then((answer) =>
      committer.receive(sent(answer)),
    );
  });
  return committer;
}

/** The first process writes; every store of the contract tests is that of a worker. */
async function engine(): Promise<ReusedEngine> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  const first = withGroupCommit(await openSqlite({ path, fileQuotas: testFileQuotas }));
  const open = async () => {
    const committer = handTo((changes) => first.commit(changes), first);
    return withGroupCommit(await openSqlite({ path, committer, maxCounted: testMaxCounted }));
  };
  return ReusedEngine.start(open, async () => {
    await first.close();
    await rm(path, { recursive: true });
  });
}

storeContractVariant("sqlite, handed over", "bun", engine);

describe("a remote commit", () => {
  const changes: readonly Change[] = [{ kind: "create-collection", collection: "people", at: 1 }];
  const done: readonly Outcome[] = [{ kind: "done" }];

  it("resolves for its caller, in whatever order the responses arrive", async () => {
    const answers: ((outcomes: readonly Outcome[]) => void)[] = [];
    const committer = handTo(() => new Promise((resolve) => answers.push(resolve)));
    const one = committer.commit(changes);
    const other = committer.commit(changes);
    answers[1]?.([{ kind: "missing" }]);
    assert.deepEqual(await other, [{ kind: "missing" }]);
    answers[0]?.(done);
    assert.deepEqual(await one, done);
  });

  for (const reason of ["full", "busy", "unavailable", "unknown"] as const)
    it(`is an outage when the other process reports one: ${reason}`, async () => {
      const outage = new Outage(reason, "no");
      const results = [Promise.reject(outage), Promise.resolve(done)];
      const committer = handTo(() => results.shift() ?? assert.fail("asked too often"));
      await assert.rejects(committer.commit(changes), outage);
      assert.equal(committer.lastError, "no");
      await committer.commit(changes);
      assert.equal(committer.lastError, undefined);
    });

  it("is a bug when the other process reports one", async () => {
    const committer = handTo(() => Promise.reject(new TypeError("oh")));
    await assert.rejects(committer.commit(changes), new Error("oh"));
    assert.equal(committer.lastError, undefined);
  });

  it("may fail, and stored data can still be read", async () => {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const first = await openSqlite({ path });
    await first.commit(changes);
    const full = new Outage("full", "no room");
    const store = await openSqlite({ path, committer: handTo(() => Promise.reject(full)) });
    assert.equal((await store.collection("people"))?.name, "people");
    await assert.rejects(store.commit(changes), full);
    assert.equal(await store.ready(), "no room");
    await store.close();
    await first.close();
    await rm(path, { recursive: true });
  });

  it("is awaited when the store closes", async () => {
    const answer = Promise.withResolvers<readonly Outcome[]>();
    const committer = handTo(() => answer.promise);
    const committed = committer.commit(changes);
    const reported: string[] = [];
    const settled = committer.settled().then(() => reported.push("settled"));
    void committed.then(() => reported.push("committed"));
    answer.resolve(done);
    await settled;
    assert.deepEqual(reported, ["committed", "settled"]);
  });
});
