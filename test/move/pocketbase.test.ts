// examples/move/from-pocketbase.js with the recorded answers of a PocketBase.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startApp } from "../http/app.ts";
import { assertMoved, moveFromPocketBase } from "./pocketbase.ts";
import { serveRecorded } from "./pocketbase-answers.ts";

describe("from PocketBase", () => {
  it("moves collections, records and files, once and again", async () => {
    const [app, recorded] = await Promise.all([startApp(), serveRecorded()]);
    try {
      for (let time = 0; time < 2; time++)
        await assertMoved(await moveFromPocketBase(recorded.url, app), app);
      assert.deepEqual(recorded.unknown, []);
    } finally {
      recorded.stop();
      await app.stop();
    }
  });
});
