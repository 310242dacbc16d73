// What the log leaves out: failures of the same state within a minute.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestContext } from "../src/http/request/context.ts";
import { RequestLog } from "../src/http/request-log.ts";
import { FileOutage, Outage } from "../src/model/outage.ts";
import { logging } from "../src/server/request-settings.ts";
import { captureLog } from "./http/captured-log.ts";

const suspect = () => new Outage("suspect", "the disk has failed");

describe("failures of requests", () => {
  it("are logged once a minute for each state, and the others each time", () => {
    const { log, lines } = captureLog();
    const { logFailure } = logging(log, new RequestLog(() => undefined), 1);
    const { now } = performance;
    let time = 0;
    performance.now = () => time;
    try {
      const request = new Request("http://a/people", { method: "POST" });
      const fail = (error: unknown, count = 1) => {
        const services = { apiPath: "" };
        const context = { requestId: "r", request, services, path: "/people" } as RequestContext;
        for (let left = count; left > 0; left--) logFailure(context, error);
      };
      fail(suspect(), 500);
      fail(new Outage("full", "no space"), 3);
      for (const cause of ["a", "b", "c", "d", "e", "a", "b"]) fail(new Outage("busy", cause));
      fail(new Outage("busy", "f"));
      fail(new FileOutage("full", "no space for files"), 2);
      for (const reason of ["unknown", "damaged"] as const) fail(new Outage(reason, "one"), 2);
      fail(new TypeError("a bug"), 2);
      time = 59_999;
      fail(suspect());
      time = 60_000;
      fail(suspect(), 2);
    } finally {
      performance.now = now;
    }
    const logged = lines().map(({ err, leftOut }) => {
      const { message } = err as { readonly message: string };
      return leftOut === undefined ? message : `${message} (${leftOut})`;
    });
    assert.deepEqual(logged, [
      "the disk has failed",
      "no space",
      ...["a", "b", "c", "d", "e"],
      "no space for files",
      ...["one", "one", "one", "one", "a bug", "a bug"],
      "the disk has failed (500)",
    ]);
  });
});
