// Numbers that this page would change when it reads them: it keeps or reports them, as the server does.

import { isExact } from "../../src/lib/json/number.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

export { isExact };

export const inexactHint = "It has more digits than a number keeps. Store it as a text.";

/** What the language has since 2025, and its types do not yet. */
type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown;
const { rawJSON } = JSON as { rawJSON?: (text: string) => Json };

const parse = (text: string, read: (value: number, source: string) => unknown): Json => {
  const revive: Reviver = (_, value, context) =>
    typeof value === "number" && context?.source !== undefined
      ? read(value, context.source)
      : value;
  return JSON.parse(text, revive) as Json;
};

/** Throws an `Error` for a number that is not stored as it is written. */
export const parseStrictly = (text: string): Json =>
  parse(text, (value, source) => {
    if (!isExact(source)) throw new Error(`${source}: ${inexactHint}`);
    return value;
  });

/** The object that a text stands for, or why it cannot be used yet. */
export function readObject(text: string): { value: JsonObject } | { error: string } {
  try {
    const value = parseStrictly(text);
    if (isObject(value)) return { value };
  } catch (error) {
    if (error instanceof Error && !(error instanceof SyntaxError)) return { error: error.message };
  }
  return { error: "This is no JSON object yet." };
}

/** To send it on: such a number stays as it is written, so that the server names it. */
export const parseToSend = (text: string): Json =>
  parse(text, (value, source) => (isExact(source) || !rawJSON ? value : rawJSON(source)));
