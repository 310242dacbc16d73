// Finds the hour, day, week, month, quarter or year of a time, in a time zone.

export const bucketUnits = ["hour", "day", "week", "month", "quarter", "year"] as const;
export type BucketUnit = (typeof bucketUnits)[number];

const secondMs = 1_000;
const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Offsets are remembered for slots of this length. */
const slotMs = 15 * minuteMs;
/** When more slots are known they are forgotten, which bounds the memory use. */
const maxSlots = 100_000;

/**
 * Names that V8 accepts and JavaScriptCore does not: the old ones of ICU, such as PST and SystemV/PST8, and an
 * offset with a minus sign of typography.
 */
const onlyInV8 =
  /^(?!CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)[a-z]{3}$|^SystemV|[^ -~]/i;

/** Whether the name is a time zone of the IANA database, such as Europe/Berlin, or an offset, such as +01:00. */
export function isTimeZone(name: string): boolean {
  if (onlyInV8.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat | undefined;
  readonly #offsets = new Map<number, number>();

  /** Without a name it is UTC. */
  constructor(name?: string) {
    const isUtc = name === undefined || name === "UTC";
    this.#format = isUtc
      ? undefined
      : new Intl.DateTimeFormat("en-US", {
          timeZone: name,
          hourCycle: "h23",
          year: "numeric",
          month: "numeric",
          day: "numeric",
          era: "short",
          hour: "numeric",
          minute: "numeric",
          second: "numeric",
        });
  }

  /** The local time, as if it were one of UTC. */
  local(ms: number): Date {
    return new Date(ms + this.#offsetAt(ms));
  }

  /** Some zones change their offset within a slot, for example at a minute after midnight. */
  #offsetAt(ms: number): number {
    if (this.#format === undefined) return 0;
    const slot = Math.floor(ms / slotMs);
    const offset = this.#offsetAtStart(this.#format, slot);
    if (offset === this.#offsetAtStart(this.#format, slot + 1)) return offset;
    return offsetOf(this.#format, ms);
  }

  #offsetAtStart(format: Intl.DateTimeFormat, slot: number): number {
    const known = this.#offsets.get(slot);
    if (known !== undefined) return known;
    if (this.#offsets.size === maxSlots) this.#offsets.clear();
    const offset = offsetOf(format, slot * slotMs);
    this.#offsets.set(slot, offset);
    return offset;
  }
}

function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  const second = Math.floor(ms / secondMs) * secondMs;
  return localTime(format, second) - second;
}

function localTime(format: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const numberOf = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const year = parts.get("era")?.startsWith("B") ? 1 - numberOf("year") : numberOf("year");
  const date = new Date(0);
  date.setUTCFullYear(year, numberOf("month") - 1, numberOf("day"));
  date.setUTCHours(numberOf("hour"), numberOf("minute"), numberOf("second"));
  return date.getTime();
}

/** The name of the bucket; names of one unit sort in the order of time. */
export function bucketOf(unit: BucketUnit, local: Date): string {
  const text = local.toISOString();
  const end = text.indexOf("T");
  switch (unit) {
    case "hour":
      return text.slice(0, end + 3);
    case "day":
      return text.slice(0, end);
    case "week":
      return weekOf(local);
    case "month":
      return text.slice(0, end - 3);
    case "quarter":
      return `${text.slice(0, end - 6)}-Q${Math.floor(local.getUTCMonth() / 3) + 1}`;
    case "year":
      return text.slice(0, end - 6);
  }
}

/** The week of ISO 8601: it begins on Monday, and belongs to the year that has its Thursday. */
function weekOf(local: Date): string {
  const day = Math.floor(local.getTime() / dayMs);
  const weekday = (((day + 3) % 7) + 7) % 7;
  const thursday = new Date((day - weekday + 3) * dayMs);
  const year = thursday.toISOString().split("-", 1)[0] ?? "";
  const first = new Date(thursday);
  first.setUTCMonth(0, 1);
  const week = 1 + Math.floor((thursday.getTime() - first.getTime()) / (7 * dayMs));
  return `${year}-W${String(week).padStart(2, "0")}`;
}
