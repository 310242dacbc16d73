// Numbers that this page would change when it reads them: it keeps or reports them, as the server does.

import { isExact } from "../../src/lib/json/number.ts";
import type { Json } from "./json.ts";

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

/** To send it on: such a number stays as it is written, so that the server names it. */
export const parseToSend = (text: string): Json =>
  parse(text, (value, source) => (isExact(source) || !rawJSON ? value : rawJSON(source)));
