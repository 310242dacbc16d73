// Routes: what the types of a route do not allow, and how a target becomes a route.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { route } from "../../src/http/request/route.ts";
import { Problem } from "../../src/model/problem.ts";

const handler = () => new Problem("not-found", "There is nothing.");
const responses = { 200: { description: "Done." } };
const id = { type: "string" };

describe("a route", () => {
  it("has the method and the path of its target", () => {
    const operation = { summary: "A thing", path: { id }, responses };
    const { method, path, permission } = route("GET /-/things/{id}", "admin", handler, operation);
    assert.deepEqual([method, path, permission], ["GET", "/-/things/{id}", "admin"]);
  });

  it("cannot be without a description, and describes each parameter of its path", () => {
    // @ts-expect-error: the operation is missing.
    assert.equal(route("GET /-/things", "admin", handler).operation, undefined);
    // @ts-expect-error: the responses are missing.
    assert.ok(route("GET /-/things", "admin", handler, { summary: "Things" }));
    // @ts-expect-error: the schema of `id` is missing.
    assert.ok(route("GET /-/things/{id}", "admin", handler, { summary: "A thing", responses }));
    // @ts-expect-error: it has no method.
    assert.ok(route("/-/things", "admin", handler, { summary: "Things", responses }));
  });
});
