// A test action that exceeds its deadline.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAction } from "../../../src/index.ts";
import { seen, steps } from "./_ledger.ts";

export default defineAction({
  description: "Takes its time.",
  input: {
    type: "object",
    properties: { how: { enum: ["never", "stops", "writes"] } },
    required: ["how"],
  },
  timeoutMs: 500,
  async run({ input: { how }, signal, resources }) {
    signal.addEventListener("abort", () => seen.push(`${how} ${signal.reason.name}`));
    await resources.create("late", { state: "before" });
    steps.emit("written");
    if (how === "stops") await sleep(60_000, undefined, { signal });
    if (how === "never") await new Promise(() => undefined);
    await once(signal, "abort");
    await resources.create("late", { state: "after" }).catch((thrown) => seen.push(thrown.name));
  },
});
