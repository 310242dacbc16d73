// A test action that takes longer than the idle timeout of a connection.

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
