// A test action that fails in every way that does not end the process.

import { defineAction } from "../../../src/index.ts";

const secret = "hunter2";

export default defineAction({
  description: "Fails.",
  input: {
    type: "object",
    properties: {
      how: {
        enum: ["throw", "reject", "nothing", "promise", "timer", "microtask", "late", "abort"],
      },
    },
    required: ["how"],
  },
  output: { type: "object", properties: { fine: { const: true } }, required: ["fine"] },
  timeoutMs: 200,
  // @ts-expect-error: one of the answers does not fit the output.
  run({ input: { how }, signal }) {
    const failed = new Error(`it failed: ${secret}`);
    switch (how) {
      case "throw":
        throw failed;
      case "reject":
        return Promise.reject(failed);
      case "promise":
        void Promise.reject(failed);
        return { fine: true };
      case "timer":
        setTimeout(() => {
          throw failed;
        }, 1);
        return { fine: true };
      case "microtask":
        queueMicrotask(() => {
          throw failed;
        });
        return { fine: true };
      case "abort":
        signal.addEventListener("abort", () => {
          throw failed;
        });
        return new Promise(() => undefined);
      case "late":
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(failed)));
      case "nothing":
        return { fine: "no" };
    }
  },
});
