// The JSON Schemas of patches.

import { maxOperations } from "../patch.ts";
import { subjectPattern } from "../token.ts";

export const mergePatchSchema = {
  type: "object",
  description: "JSON Merge Patch (RFC 7396): null removes, objects merge, anything else replaces.",
  properties: {
    _owner: {
      type: ["string", "null"],
      pattern: subjectPattern.source,
      description:
        "The subject that owns the resource from now on; null for none. Only for admins.",
    },
  },
  additionalProperties: {},
  examples: [{ email: "ada@example.org", phone: null }],
} as const;

export const jsonPatchOperationSchema = {
  type: "object",
  required: ["op", "path"],
  properties: {
    op: { type: "string", enum: ["add", "remove", "replace", "move", "copy", "test"] },
    path: { type: "string", description: "A JSON Pointer (RFC 6901)." },
    from: { type: "string", description: "Of `move` and `copy`: a JSON Pointer." },
    value: { description: "Of `add`, `replace` and `test`." },
  },
  examples: [{ op: "add", path: "/tags/-", value: "mathematics" }],
} as const;

export const jsonPatchSchema = {
  type: "array",
  description: "JSON Patch (RFC 6902).",
  maxItems: maxOperations,
  items: jsonPatchOperationSchema,
  examples: [
    [
      { op: "test", path: "/name", value: "Ada" },
      { op: "replace", path: "/name", value: "Ada Lovelace" },
    ],
  ],
} as const;
