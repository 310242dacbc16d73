// The JSON Schemas of settings.

export const settingSchema = {
  type: "object",
  required: ["name", "value", "source", "from", "reloadable"],
  properties: {
    name: { type: "string", description: "Its key in the configuration file." },
    value: {
      type: ["string", "number", "array", "null"],
      items: { type: "string" },
      description: "Without secrets; null when it is not set.",
    },
    source: { type: "string", enum: ["flag", "environment", "file", "program", "default"] },
    from: {
      type: ["string", "null"],
      description: "The flag, the environment variable, or the path of the file.",
    },
    reloadable: { type: "boolean", description: "Whether it can change without a restart." },
  },
  additionalProperties: false,
} as const;

export const settingListSchema = {
  type: "object",
  required: ["data"],
  properties: { data: { type: "array", items: settingSchema } },
  additionalProperties: false,
  examples: [
    {
      data: [
        { name: "port", value: 9000, source: "flag", from: "--port", reloadable: false },
        { name: "logLevel", value: "info", source: "default", from: null, reloadable: true },
      ],
    },
  ],
} as const;

const names = { type: "array", items: { type: "string" } } as const;

export const reloadedSchema = {
  type: "object",
  required: ["changed", "needRestart", "defined"],
  properties: {
    changed: { ...names, description: "The settings that have other values now." },
    needRestart: {
      ...names,
      description: "The settings whose new values need a restart. They stay as they were.",
    },
    defined: { ...names, description: "The collections whose definitions were changed." },
  },
  additionalProperties: false,
  examples: [{ changed: ["corsOrigins"], needRestart: ["port"], defined: ["people"] }],
} as const;
