// A test action that calls a method of its resources and returns the result.

import { defineAction, ProblemError } from "../../../src/index.ts";

/** JSON has no undefined: this text stands for it. */
function withUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUndefined);
  if (typeof value !== "object" || value === null) return value === "undefined" ? undefined : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withUndefined(member)]),
  );
}

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
      return (await call(...args.map(withUndefined))) ?? null;
    } catch (thrown) {
      if (!isCaught || !(thrown instanceof ProblemError)) throw thrown;
      const { kind, detail, errors, message } = thrown;
      return { kind, detail, errors, message };
    }
  },
});
