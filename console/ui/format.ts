// Numbers, sizes and times as people read them.

const numbers = new Intl.NumberFormat();
const sizes = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export const formatNumber = (value: number): string => numbers.format(value);

export const countText = (count: number): string =>
  count === 1 ? "1 resource" : `${formatNumber(count)} resources`;

/** `0.3 seconds`. */
export const formatSeconds = (milliseconds: number): string =>
  new Intl.NumberFormat(undefined, {
    ...{ style: "unit", unit: "second", unitDisplay: "long" },
    maximumSignificantDigits: 2,
  }).format(milliseconds / 1000);

/** `1.4 MB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), sizes.length - 1);
  const value = bytes / 1000 ** power;
  const maximumFractionDigits = power === 0 || value >= 100 ? 0 : 1;
  const unit = sizes[power] ?? "byte";
  return new Intl.NumberFormat(undefined, {
    ...{ style: "unit", unit, unitDisplay: power === 0 ? "long" : "short" },
    maximumFractionDigits,
  }).format(value);
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** `3 hours ago`. */
export function formatAgo(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  const [unit, length] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ["second", 1];
  return relative.format(Math.round(seconds / length), unit as Intl.RelativeTimeFormatUnit);
}

/** In the time zone of the person. */
export const formatTime = (time: string): string => local.format(new Date(time));

const minutes = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

/** Without seconds, where there is little room. */
export const formatMinute = (time: string): string => minutes.format(new Date(time));

/** A day such as `1977-04-04`, the same everywhere. */
export const formatDate = (day: string): string => days.format(new Date(day));

const { timeZone } = local.resolvedOptions();

/** Both zones, for a tooltip. */
export const formatBothTimes = (time: string): string =>
  `${formatTime(time)} (${timeZone})\n${new Date(time).toISOString()} (UTC)`;
