// A test action that calls a method of its resources and returns the result.

import { defineAction, ProblemError } from "../../../src/index.ts";

export default defineAction({
  description: "Calls a verb.",
  input: {
    type: "object",
    properties: {
      verb: { enum: ["create", "get", "list", "put", "patch", "remove", "batch"] },
      args: { type: "array" },
      isCaught: { type: "boolean", default: false },
    },
    required: ["verb", "args"],
    additionalProperties: false,
  },
  async run({ input: { verb, args, isCaught }, resources }) {
    const call = resources[verb] as (...args: readonly unknown[]) => Promise<unknown>;
    try {
      return (await call(...args)) ?? null;
    } catch (thrown) {
      if (!isCaught || !(thrown instanceof ProblemError)) throw thrown;
      const { kind, detail, errors, message } = thrown;
      return { kind, detail, errors, message };
    }
  },
});
