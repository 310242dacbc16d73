// The output of the log when its reader is slow: no line is left behind. What it says of errors.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createLog } from "../src/server/log.ts";

const pipeBytes = 65_536;
/** Lines are written after this time at the latest. */
const flushMs = 100;

describe("an error in the log", () => {
  it("has a reason, whatever was thrown", async () => {
    const folder = mkdtempSync(join(tmpdir(), "restante-log-"));
    const path = join(folder, "log");
    const output = openSync(path, "w");
    const log = createLog("info", output);
    const unreadable = Object.defineProperty(new Error("x"), "message", {
      get: () => {
        throw new Error("inner");
      },
    });
    const long = "y".repeat(1_000_000);
    for (const err of [Symbol("why"), () => "why", Object.freeze(new Error("why"))])
      log.error({ err }, "failed");
    for (const err of [unreadable, new Error(long), long]) log.error({ err }, "failed");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    assert.equal(lines.length, 6);
    for (const line of lines.slice(0, 3)) assert.match(JSON.stringify(JSON.parse(line).err), /why/);
    assert.match(JSON.parse(lines[3] ?? "").err, /cannot be read/);
    for (const line of lines.slice(4)) assert.ok(line.length < 70_000);
    assert.match(JSON.parse(lines[4] ?? "").err.stack, /log-output/);
    closeSync(output);
    rmSync(folder, { recursive: true });
  });

  it("has its message, also where a module is missing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "restante-log-"));
    const path = join(folder, "log");
    const output = openSync(path, "w");
    const log = createLog("info", output);
    const missing = join(folder, "missing.js");
    await import(missing).catch((thrown) => log.error({ err: thrown }, "failed"));
    log.error({ err: null }, "nothing");
    log.error({ err: undefined }, "nothing");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
    const [line = "", next = "", last = ""] = readFileSync(path, "utf8").split("\n");
    assert.match(JSON.parse(line).err.message, /missing\.js/);
    assert.equal(JSON.parse(next).err, null);
    assert.equal(JSON.parse(last).err, "undefined");
    closeSync(output);
    rmSync(folder, { recursive: true });
  });
});

describe("the output of the log", { skip: process.platform !== "linux" && "needs Linux" }, () => {
  it("has the lines that came while the reader stopped", async ({ mock: { timers } }) => {
    const folder = mkdtempSync(join(tmpdir(), "restante-log-"));
    const path = join(folder, "pipe");
    spawnSync("mkfifo", [path]);
    const output = openSync(path, constants.O_RDWR);
    const input = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    writeSync(output, Buffer.alloc(pipeBytes, "\n"));
    timers.enable({ apis: ["setTimeout"] });
    const log = createLog("info", output);
    for (const line of ["first", "second"]) {
      log.info(line);
      timers.tick(flushMs);
    }
    let text = "";
    while (!text.includes("second")) {
      text += readAll(input);
      await setImmediate();
      timers.tick(flushMs);
    }
    assert.match(text, /"msg":"first"}\n[^\n]*"msg":"second"}\n$/);
    closeSync(output);
    closeSync(input);
    rmSync(folder, { recursive: true });
  });
});

/** What is in the pipe now. */
function readAll(descriptor: number): string {
  const buffer = Buffer.alloc(pipeBytes);
  try {
    return buffer.toString("utf8", 0, readSync(descriptor, buffer));
  } catch {
    return "";
  }
}
