// Reads a length of time such as 90m, 6h or 7d, and a time such as 2030-01-31T12:00:00Z.

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

/** A date, or a date with a time and its zone: without one it would be another time on each machine. */
const timeForm = /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Returns milliseconds since the epoch, or undefined for what is no time. A date is midnight UTC. */
export function readTime(text: string): number | undefined {
  const [, day = ""] = timeForm.exec(text) ?? [];
  const at = Date.parse(text.replace(" ", "T"));
  return Number.isNaN(at) || !isDay(day) ? undefined : at;
}

/** The runtimes take 31 February for 3 March. */
function isDay(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}
