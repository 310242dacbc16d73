// What a client would rather get back from a write (RFC 7240).

import { quotedInner, splitField } from "./field-list.ts";

export type Wanted = "minimal" | "representation";

/** The preference; both at once count as neither (§4.2), and what is unknown is ignored (§2). */
export function readPreference(headers: Headers): Wanted | undefined {
  const field = headers.get("prefer");
  if (field === null) return undefined;
  const wanted = new Set(
    splitField(field, ",")
      .map(returnOf)
      .filter((value) => value !== undefined),
  );
  const [only] = wanted;
  return wanted.size === 1 ? only : undefined;
}

const isWanted = (value: string): value is Wanted =>
  value === "minimal" || value === "representation";

/** What a preference says of `return`. What follows a semicolon is a parameter, and `return` has none. */
function returnOf(preference: string): Wanted | undefined {
  const [pair = ""] = splitField(preference, ";");
  const equals = pair.indexOf("=");
  if (equals < 0 || pair.slice(0, equals).trim().toLowerCase() !== "return") return undefined;
  const text = pair.slice(equals + 1).trim();
  const value = (quotedInner(text) ?? text).toLowerCase();
  return isWanted(value) ? value : undefined;
}
