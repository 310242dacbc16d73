// What the server does in the background, as it is shown to administrators.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { answerOf, assertProblem } from "./expect.ts";

interface ShownTask {
  readonly name: string;
  readonly state: string;
  readonly startedAt: string | null;
  readonly nextAt: string | null;
}

describe("GET /-/status", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.stop());

  const find = async (name: string): Promise<ShownTask | undefined> => {
    const response = await app.request("/-/status");
    const { tasks } = (await response.json()) as { readonly tasks: readonly ShownTask[] };
    return tasks.find((task) => task.name === name);
  };

  it("shows each task, and when it runs next", async () => {
    // The request has a token, whose use is written later.
    await find("token-uses");
    const { nextAt, ...task } = (await find("token-uses")) ?? {};
    assert.deepEqual(task, {
      ...{ name: "token-uses", state: "waiting", startedAt: null, seconds: null, error: null },
    });
    assert.ok(Date.parse(nextAt ?? "") > Date.now());
  });

  it("is for administrators only, and has no parameters", async () => {
    const token = await app.token("*:*");
    const ask = async (path: string, init: { token?: string | null } = {}) =>
      answerOf(await app.request(path, init));
    assertProblem(await ask("/-/status", { token }), "insufficient-scope");
    assertProblem(await ask("/-/status", { token: null }), "unauthenticated");
    assertProblem(await ask("/-/status?limit=1"), "invalid-parameter");
  });
});
