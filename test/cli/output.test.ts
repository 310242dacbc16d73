// The standard output of commands when nobody can have it: a full disk is an error, a reader that left is none.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { commandLine, start } from "../process.ts";

const [program, ...flags] = commandLine;
const full = "/dev/full";
const skip = !existsSync(full) && "there is no /dev/full";

describe("a command whose output cannot be written", { skip }, () => {
  let cwd: string;
  before(async () => {
    cwd = mkdtempSync(join(tmpdir(), "restante-output-"));
    const server = await start([], { cwd });
    server.signal("SIGTERM");
    await server.ended;
  });
  after(() => rmSync(cwd, { recursive: true }));

  for (const args of [
    ["token", "create", "--name", "a", "--scope", "admin"],
    ["token", "list"],
    ["types"],
    ["licenses"],
    ["--help"],
  ])
    it(`ends with 1 and says so: ${args.join(" ")}`, () => {
      const output = openSync(full, "w");
      const { status, stderr } = spawnSync(program, [...flags, ...args], {
        ...{ cwd, encoding: "utf8", stdio: ["ignore", output, "pipe"] },
      });
      closeSync(output);
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^Cannot write to standard output: .*no space left/m);
      assert.doesNotMatch(stderr, /^\s+at /m);
    });
});
