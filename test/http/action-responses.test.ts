// An action that returns a Response, of its own or of fetch, which are two classes on Node.

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";

const captured = captureLog();
let app: TestApp;
before(async () => {
  const actions = fileURLToPath(new URL("actions", import.meta.url));
  app = await startApp({ actions }, captured.log);
});
after(() => app.stop());

for (const how of ["response", "fetched-response"])
  it(`is 500 when an action returns a Response, and the log says why: ${how}`, async () => {
    const answer = await new Client(app).post("/-/actions/answer", { how });
    const { requestId } = assertProblem(answer, "internal-error");
    const line = captured.lines().find((each) => each.requestId === requestId && "err" in each);
    assert.match(JSON.stringify(line?.err), /seeOther\(\), not a Response/);
  });
