// The JSON Schemas of settings.

export const settingSchema = {
  type: "object",
  required: ["name", "value", "source", "from"],
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
        { name: "port", value: 9000, source: "flag", from: "--port" },
        { name: "logLevel", value: "info", source: "default", from: null },
      ],
    },
  ],
} as const;
