// A test action that uses its resources after its caller may have lost its rights.

import { defineAction, ProblemError } from "../../../src/index.ts";
import { go, waiting } from "./_gate.ts";

export default defineAction({
  description: "Is late.",
  input: { type: "object", properties: { collection: { type: "string" } } },
  async run({ input: { collection }, resources }) {
    if (collection === undefined) return null;
    waiting.resolve();
    await go.promise;
    const calls = [
      resources.get(collection, "1"),
      resources.list(collection),
      resources.put(collection, "late", {}),
    ];
    const results = await Promise.allSettled(calls);
    return results.map((result) =>
      result.status === "rejected" && result.reason instanceof ProblemError
        ? result.reason.kind
        : result.status,
    );
  },
});
