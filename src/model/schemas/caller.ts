// The JSON Schema of a caller, as it is shown to itself.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import type { Principal } from "../principal.ts";
import { optionalTimeSchema, timeText } from "./time.ts";

export const callerSchema = {
  type: "object",
  required: ["kind", "subject", "name", "scopes", "roles", "expiresAt"],
  properties: {
    kind: { enum: ["token", "user", "system"], description: "What the caller is known by." },
    subject: {
      type: ["string", "null"],
      description: "Whom the caller stands for: the owner of what it creates.",
    },
    name: { type: ["string", "null"], description: "That of the token." },
    scopes: {
      type: "array",
      description: "What it is allowed now, by its token and by its roles.",
      items: { type: "string" },
    },
    roles: {
      type: "array",
      description: "Those of its roles that the access document names.",
      items: { type: "string" },
    },
    expiresAt: { ...optionalTimeSchema, description: "null: never." },
  },
  additionalProperties: false,
  examples: [
    {
      ...{ kind: "token", subject: "ann", name: "Ann's phone", scopes: ["notes:*"], roles: [] },
      expiresAt: null,
    },
  ],
} as const;

export function callerView(
  { subject, scopes, roles, credential }: Principal,
  kind: "token" | "user" | "system",
): FromSchema<typeof callerSchema> {
  const { name = null, expiresAt = null } = credential ?? {};
  return {
    ...{ kind, subject: subject ?? null, name, scopes, roles },
    expiresAt: expiresAt === null ? null : timeText(expiresAt),
  };
}
