// A client that disconnects during NDJSON: what is not yet written is not written.

import assert from "node:assert/strict";
import { request as send } from "node:http";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { runsOn, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

/** More than are written until the server takes the client for gone, which takes up to two seconds. */
const count = 500_000;
/** Coded, so that all of it is sent before much of it is written. */
const lines = gzipSync('{"n":1}\n'.repeat(count));

type IsTime = () => Promise<boolean>;

/** What a disconnected client is, depends on the runtime; a short run has one engine on each. */
const one = runsOn("bun") ? "sqlite" : "postgres";

for (const store of storesHere(one, ["sqlite", "postgres"])) {
  describe(`lines of a client that disconnects, on ${store}`, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
    });
    after(() => app.stop());

    /** How many there are, once there are no more from one look to the next. */
    const settled = async (collection: string): Promise<number> => {
      for (let last = -1; ; await wait(300)) {
        const total = await app.total(collection);
        if (total === last) return total;
        last = total;
      }
    };

    const leave = async (path: string, prefer: string, missing: number, isTime: IsTime) => {
      const request = send(`${app.url}${path}`, {
        method: "POST",
        agent: false,
        headers: {
          ...{ authorization: `Bearer ${app.admin}`, "content-type": "application/x-ndjson" },
          ...{ prefer, "content-encoding": "gzip", "content-length": lines.length + missing },
        },
      });
      request.on("error", () => {});
      request.on("response", (response) => response.on("error", () => {}).resume());
      request.write(lines);
      while (!(await isTime())) await wait(5);
      const closed = new Promise((resolve) => request.once("close", resolve));
      request.destroy();
      await closed;
    };

    for (const prefer of ["return=minimal", "return=representation"])
      it(`are not all written with ${prefer}`, async () => {
        const name = prefer.slice("return=".length);
        await leave(`/${name}`, prefer, 0, async () => (await app.total(name)) > 0);
        const total = await settled(name);
        assert.ok(total > 0 && total < count, `${total} were written`);
        assert.equal((await app.request(`/${name}`)).status, 200);
      });

    it("are not written at all with atomic=true", async () => {
      await leave("/atomic?atomic=true", "return=minimal", 1, async () => true);
      assert.equal(await settled("atomic"), 0);
    });
  });
}
