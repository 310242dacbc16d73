// The JSON Schemas of scheduled backups.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { exampleTime } from "./examples.ts";
import { timeSchema } from "./time.ts";

const size = { type: ["integer", "null"], minimum: 0 } as const;
const seconds = { type: "number", minimum: 0 } as const;

export const backupRunSchema = {
  type: "object",
  required: ["startedAt", "state", "seconds", "bytes", "writtenBytes", "error"],
  properties: {
    startedAt: timeSchema,
    state: { type: "string", enum: ["running", "done", "failed"] },
    seconds: { ...seconds, type: ["number", "null"], description: "How long it took." },
    bytes: { ...size, description: "The size of all rows and files." },
    writtenBytes: { ...size, description: "What was written because no earlier backup had it." },
    error: { type: ["string", "null"], description: "Why it failed." },
  },
  additionalProperties: false,
} as const;

export const backupListSchema = {
  type: "object",
  required: ["schedule", "data"],
  properties: {
    schedule: {
      description: "Null when the server has no `--backup-to`.",
      anyOf: [
        {
          type: "object",
          required: ["to", "everySeconds", "keepSeconds", "nextAt"],
          properties: {
            to: { type: "string", description: "The folder of backups." },
            everySeconds: seconds,
            keepSeconds: {
              ...seconds,
              type: ["number", "null"],
              description: "How long backups are kept; null for ever.",
            },
            nextAt: {
              ...timeSchema,
              type: ["string", "null"],
              description: "When the next one begins; null while one runs.",
            },
          },
          additionalProperties: false,
        },
        { type: "null" },
      ],
    },
    data: { type: "array", items: backupRunSchema, description: "The newest first." },
  },
  additionalProperties: false,
  examples: [
    {
      schedule: {
        to: "/srv/backups",
        everySeconds: 21_600,
        keepSeconds: 604_800,
        nextAt: exampleTime,
      },
      data: [
        {
          startedAt: exampleTime,
          state: "done",
          seconds: 1.2,
          bytes: 281_856,
          writtenBytes: 5_700,
          error: null,
        },
      ],
    },
  ],
} as const;

export type BackupRunView = FromSchema<typeof backupRunSchema>;
export type BackupListView = FromSchema<typeof backupListSchema>;
