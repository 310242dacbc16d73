// Makes the JSON Schema of the config file from the settings, for editors.

import { type Setting, schemaKey, settings } from "./config.ts";

export function settingsSchema(): Readonly<Record<string, unknown>> {
  const properties = Object.entries<Setting<unknown>>(settings).map(([name, setting]) => [
    name,
    { ...typeOf(setting), description: describe(setting), ...fallbackOf(setting) },
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "The settings of Restante",
    type: "object",
    properties: { [schemaKey]: { type: "string" }, ...Object.fromEntries(properties) },
    additionalProperties: false,
  };
}

const describe = ({ about, allowed }: Setting<unknown>): string => `${about} Must be ${allowed}.`;

/** The file may have the text that a flag has. */
function typeOf({ type, choices }: Setting<unknown>): object {
  if (choices !== undefined) return { enum: choices };
  if (type === "list") return { type: ["array", "string"], items: { type: "string" } };
  return { type: type === "number" ? ["number", "string"] : "string" };
}

function fallbackOf({ type, fallback }: Setting<unknown>): object {
  if (!fallback) return {};
  return {
    default: type === "number" && !Number.isNaN(Number(fallback)) ? Number(fallback) : fallback,
  };
}
