// Reads the `return` preference of the Prefer header (RFC 7240).

import { quotedInner, splitField } from "./field-list.ts";

export type ReturnPreference = "minimal" | "representation";

/** Returns the preference; both values at once count as none (§4.2), and unknown ones are ignored (§2). */
export function readPreference(headers: Headers): ReturnPreference | undefined {
  const field = headers.get("prefer");
  if (field === null) return undefined;
  const preferences = new Set(
    splitField(field, ",")
      .map(returnOf)
      .filter((value) => value !== undefined),
  );
  const [only] = preferences;
  return preferences.size === 1 ? only : undefined;
}

const isReturnPreference = (value: string): value is ReturnPreference =>
  value === "minimal" || value === "representation";

/** Returns the value of `return`. Text after a semicolon is a parameter, and `return` has none. */
function returnOf(preference: string): ReturnPreference | undefined {
  const [pair = ""] = splitField(preference, ";");
  const equals = pair.indexOf("=");
  if (equals < 0 || pair.slice(0, equals).trim().toLowerCase() !== "return") return undefined;
  const text = pair.slice(equals + 1).trim();
  const value = (quotedInner(text) ?? text).toLowerCase();
  return isReturnPreference(value) ? value : undefined;
}
