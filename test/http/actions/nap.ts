// An action of the tests: is silent for longer than a runtime leaves an idle connection alone.

import { setTimeout as sleep } from "node:timers/promises";
import { defineAction } from "../../../src/index.ts";

export default defineAction({
  description: "Sleeps.",
  input: { type: "object", properties: { ms: { type: "integer", default: 15_000 } } },
  async run({ input: { ms } }) {
    await sleep(ms);
    return ms;
  },
});
