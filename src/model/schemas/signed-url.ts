// The JSON Schemas of signed URLs: as a client asks for one, and as it gets it.

import { ErrorReport } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { withDefaults } from "../../lib/schema/with-defaults.ts";
import type { FieldError } from "../problem.ts";
import { exampleId, exampleTime } from "./examples.ts";
import { timeSchema } from "./time.ts";

const signedUrlLimits = { maxPathChars: 4096, maxSeconds: 3600, defaultSeconds: 300 };

export const signedUrlRequestSchema = {
  type: "object",
  required: ["path"],
  properties: {
    path: {
      type: "string",
      minLength: 1,
      maxLength: signedUrlLimits.maxPathChars,
      description:
        "The `url` of a file, or its path, with the parameters that are to be signed with it.",
    },
    expiresIn: {
      type: "integer",
      minimum: 1,
      maximum: signedUrlLimits.maxSeconds,
      default: signedUrlLimits.defaultSeconds,
      description: "In seconds.",
    },
  },
  additionalProperties: false,
  examples: [{ path: `/people/${exampleId}/photo`, expiresIn: 60 }],
} as const;

export const signedUrlSchema = {
  type: "object",
  required: ["url", "expiresAt"],
  properties: {
    url: { type: "string", description: "Reads this file, and nothing else, without a token." },
    expiresAt: timeSchema,
  },
  additionalProperties: false,
  examples: [{ url: `/people/${exampleId}/photo?signature=…`, expiresAt: exampleTime }],
} as const;

export type SignedUrlRequest = FromSchema<typeof signedUrlRequestSchema>;

/** Returns the request with its defaults, or all its errors. */
export function readSignedUrlRequest(given: unknown): SignedUrlRequest | readonly FieldError[] {
  const report = new ErrorReport();
  return checkValue(signedUrlRequestSchema, given, report)
    ? withDefaults(signedUrlRequestSchema, given)
    : report.errors;
}
