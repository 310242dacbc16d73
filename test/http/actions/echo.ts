// A test action that returns its input. It imports nothing at run time.

import type { ActionContext } from "../../../src/index.ts";

export const description = "Says what it was given.";

export const input = {
  type: "object",
  properties: {
    id: { type: "string" },
    count: { type: "integer", minimum: 1, default: 1 },
    secret: { type: "string", writeOnly: true },
    nested: { $ref: "#/$defs/nested" },
  },
  $defs: {
    nested: { type: "object", properties: { deep: { type: "boolean" } }, required: ["deep"] },
  },
};

export const run = ({ input, caller, requestId }: ActionContext) => ({ input, caller, requestId });
