// What a client would rather get back from a write (RFC 7240).

export type Wanted = "minimal" | "representation";

/** Preferences are parted by commas, which may also stand in quotes. */
const preferences = /(?:[^,"]|"[^"]*")+/g;
/** What follows a semicolon is a parameter, and `return` has none. */
const returning = /^\s*return\s*=\s*("?)(minimal|representation)\1\s*(?:;|$)/i;

/** The preference; both at once count as neither (§4.2), and what is unknown is ignored (§2). */
export function readPreference(headers: Headers): Wanted | undefined {
  const field = headers.get("prefer");
  if (field === null) return undefined;
  const wanted = new Set(
    (field.match(preferences) ?? [])
      .map((preference) => returning.exec(preference)?.[2]?.toLowerCase())
      .filter((value) => value !== undefined),
  );
  return wanted.size === 1 ? ([...wanted][0] as Wanted) : undefined;
}
