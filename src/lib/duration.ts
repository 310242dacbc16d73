// Reads a length of time such as 90m, 6h or 7d.

const unitMs: ReadonlyMap<string, number> = new Map([
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Returns milliseconds, or undefined when the text is no length of time. */
export function readDuration(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = unitMs.get(unit);
  return count === undefined || ms === undefined ? undefined : Number(count) * ms;
}
