// A test action that exceeds its deadline.

import { setTimeout as sleep } from "node:timers/promises";
import { defineAction } from "../../../src/index.ts";
import { seen } from "./_ledger.ts";

export default defineAction({
  description: "Takes its time.",
  input: {
    type: "object",
    properties: { how: { enum: ["never", "heeds", "writes"] } },
    required: ["how"],
  },
  timeoutMs: 100,
  async run({ input: { how }, signal, resources }) {
    await resources.create("late", { state: "before" });
    signal.addEventListener("abort", () => seen.push(`${how} ${signal.reason.name}`));
    if (how === "heeds") await sleep(60_000, undefined, { signal });
    if (how === "never") await new Promise(() => undefined);
    await sleep(300);
    await resources.create("late", { state: "after" }).catch((thrown) => seen.push(thrown.name));
  },
});
