// The commits of other processes are noticed by the file that counts them, each one.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  CommitCounterWriter,
  createCommitCounter,
  followCommits,
} from "../../../src/store/sqlite/commit-counter.ts";
import { inDirectory } from "./test-directory.ts";

describe("a follower of commits", () => {
  it("is called after each of them, however soon it comes after the last call", () =>
    inDirectory(async (folder) => {
      const path = join(folder, "restante.commits");
      createCommitCounter(path);
      const writer = new CommitCounterWriter(path);
      let called = Promise.withResolvers<void>();
      let calls = 0;
      const end = followCommits(path, () => {
        calls++;
        called.resolve();
      });
      for (let commit = 1; commit <= 100; commit++) {
        called = Promise.withResolvers();
        writer.publish(commit, commit % 3 === 0);
        await called.promise;
      }
      end();
      writer.close();
      assert.ok(calls >= 100);
    }));
});
