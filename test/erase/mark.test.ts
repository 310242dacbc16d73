// The file that tells which erasures were stopped before their end.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { EraseMark } from "../../src/cli/erase-mark.ts";
import { CliError } from "../../src/lib/cli-error.ts";

let data: string;
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), "restante-mark-"));
});
afterEach(() => rm(data, { recursive: true, force: true }));

const markOf = (name: string) => new EraseMark({ store: undefined, data }, [name]);

/** An erasure whose process ends in the middle. */
const stopDuring = (name: string) =>
  assert.rejects(
    markOf(name).during(() => Promise.reject(new Error("killed"))),
    /killed/,
  );

/** An erasure that erases nothing. */
const refuse = (name: string) =>
  assert.rejects(
    markOf(name).during(() => Promise.reject(new CliError(1, "refused"))),
    /refused/,
  );

describe("the mark of an erasure", () => {
  it("stays when another erasure is refused after the first was stopped", async () => {
    await stopDuring("/people/ann");
    await refuse("/people/bob");
    const { isPending, isResumed } = markOf("/people/ann");
    assert.deepEqual({ isPending, isResumed }, { isPending: true, isResumed: true });
    assert.equal(markOf("/people/bob").isResumed, false);
    await refuse("/people/ann");
    assert.equal(markOf("/people/ann").isResumed, true);
  });

  it("knows all that were stopped, and none when one has ended", async () => {
    await stopDuring("/people/ann");
    await stopDuring("/people/bob");
    assert.equal(markOf("/people/ann").isResumed, true);
    assert.equal(markOf("/people/bob").isResumed, true);
    const mark = markOf("/people/bob");
    await mark.during(async () => undefined);
    mark.remove();
    assert.equal(markOf("/people/ann").isPending, false);
    assert.deepEqual(await readdir(data), []);
  });

  it("is not left by an erasure that is refused", async () => {
    await refuse("/people/ann");
    assert.deepEqual(await readdir(data), []);
  });

  it("says why it cannot be written, and nothing is erased", async () => {
    await rm(data, { recursive: true });
    let isErased = false;
    const erase = async () => {
      isErased = true;
    };
    await assert.rejects(markOf("/people/ann").during(erase), (error) => {
      assert.ok(error instanceof CliError);
      assert.match(error.message, /^Nothing was erased: /);
      return true;
    });
    assert.equal(isErased, false);
    assert.ok(!existsSync(data));
  });
});
