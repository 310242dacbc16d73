// What is watched for changes: files, folders, and links that lead nowhere or back.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { stateOf } from "../src/server/watch.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "restante-watch-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the state of watched files", () => {
  it("changes with a file, also in a folder that a link leads to", () => {
    mkdirSync(join(folder, "other"));
    mkdirSync(join(folder, "handlers"));
    symlinkSync(join(folder, "other"), join(folder, "handlers/linked"));
    const before = stateOf([join(folder, "handlers")]);
    writeFileSync(join(folder, "other/a.ts"), "1");
    assert.notEqual(stateOf([join(folder, "handlers")]), before);
  });

  it("has a link that leads to itself, to nothing, or back to its folder", () => {
    const before = stateOf([folder]);
    symlinkSync("self.ts", join(folder, "self.ts"));
    symlinkSync("nothing.ts", join(folder, "lost.ts"));
    for (const name of ["one", "two", "three"]) symlinkSync(".", join(folder, name));
    const after = stateOf([folder]);
    assert.notEqual(after, before);
    assert.match(after, /self\.ts unreadable/);
    assert.match(after, /lost\.ts missing/);
    assert.ok(after.split("\n").length < 10, after);
  });
});
