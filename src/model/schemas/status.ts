// The JSON Schema of what the server does in the background.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { exampleTime } from "./examples.ts";
import { optionalTimeSchema } from "./time.ts";

export const taskSchema = {
  type: "object",
  required: ["name", "state", "startedAt", "seconds", "error", "nextAt"],
  properties: {
    name: { type: "string" },
    state: { type: "string", enum: ["running", "waiting"] },
    startedAt: {
      ...optionalTimeSchema,
      description: "When the last run began, or the one that is running; null before the first.",
    },
    seconds: {
      type: ["number", "null"],
      minimum: 0,
      description: "How long the last run took; null while one runs.",
    },
    error: {
      type: ["string", "null"],
      description: "Why the last run failed; null if it did not.",
    },
    nextAt: {
      ...optionalTimeSchema,
      description: "When the next run begins; null for a task that has nothing to do.",
    },
  },
  additionalProperties: false,
} as const;

export const statusSchema = {
  type: "object",
  required: ["tasks"],
  properties: { tasks: { type: "array", items: taskSchema } },
  additionalProperties: false,
  examples: [
    {
      tasks: [
        {
          name: "unused-files",
          state: "waiting",
          startedAt: exampleTime,
          seconds: 0.2,
          error: null,
          nextAt: exampleTime,
        },
      ],
    },
  ],
} as const;

export type TaskView = FromSchema<typeof taskSchema>;
