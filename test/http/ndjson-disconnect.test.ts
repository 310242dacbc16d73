// A client that disconnects during NDJSON: what is not yet written is not written.

import assert from "node:assert/strict";
import { request as send } from "node:http";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { runsOn, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";

/** More than any machine writes until the server takes the client for gone, which takes up to two seconds. */
const count = 5_000_000;
/** Coded, so that all of it is sent before much of it is written. */
const linesOf = (number: number) => gzipSync('{"n":1}\n'.repeat(number));

interface Content {
  readonly lines: Buffer;
  /** So many bytes are announced that are never sent. */
  readonly missing: number;
}

type IsTime = () => Promise<boolean>;

/** What a disconnected client is, depends on the runtime; a short run has one engine on each. */
const one = runsOn("bun") ? "sqlite" : "postgres";

for (const store of storesHere(one, ["sqlite", "postgres"])) {
  describe(`lines of a client that disconnects, on ${store}`, () => {
    let app: TestApp;
    const captured = captureLog();
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {}, captured.log);
    });
    after(() => app.stop());

    /** How many there are when the request has ended. */
    const settled = async (collection: string): Promise<number> => {
      const isOurs = (line: Readonly<Record<string, unknown>>) =>
        line.method === "POST" && line.path === `/${collection}`;
      while (!captured.text().includes("\n") || !captured.lines().some(isOurs)) await wait(20);
      return app.total(collection);
    };

    const leave = async (path: string, prefer: string, content: Content, isTime: IsTime) => {
      const { lines, missing } = content;
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
        const content = { lines: linesOf(count), missing: 0 };
        await leave(`/${name}`, prefer, content, async () => (await app.total(name)) > 0);
        const total = await settled(name);
        assert.ok(total > 0 && total < count, `${total} were written`);
        assert.equal((await app.request(`/${name}`)).status, 200);
      });

    it("are not written at all with atomic=true", async () => {
      const content = { lines: linesOf(9_000), missing: 1 };
      const hasArrived = async () =>
        /^restante_in_flight_bytes [1-9]/m.test(await (await app.request("/-/metrics")).text());
      await leave("/atomic?atomic=true", "return=minimal", content, hasArrived);
      assert.equal(await settled("atomic"), 0);
    });
  });
}
