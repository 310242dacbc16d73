// Turns what people type into values, and values into what inputs show.

import type { Json } from "../api/json.ts";

/** A text that is no number stays a text, so that the server says what is wrong with it. */
export function parseNumber(text: string): number | string | undefined {
  const plain = plainNumber(text.trim());
  if (plain === "") return undefined;
  const value = Number(plain);
  return /^[-+.\deE]+$/.test(plain) && Number.isFinite(value) ? value : text;
}

/** Reads `12,50`, `1 200` and `1.200,50`, too. `1,200` may be either, and stays as it is. */
function plainNumber(text: string): string {
  const joined = text.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, "");
  if (/^[-+]?\d{1,3}((,\d{3}){2,}(\.\d*)?|,\d{3}\.\d*)$/.test(joined))
    return joined.replaceAll(",", "");
  if (/^[-+]?\d{1,3}((\.\d{3}){2,}(,\d*)?|\.\d{3},\d*)$/.test(joined))
    return joined.replaceAll(".", "").replace(",", ".");
  const isDecimal = /^[-+]?\d+,\d*$/.test(joined) && !/^[-+]?[1-9]\d{0,2},\d{3}$/.test(joined);
  return isDecimal ? joined.replace(",", ".") : joined;
}

/** What to write instead of a text that is no number. */
export function numberHint(text: string): string {
  const plain = text.trim();
  return /^[-+]?\d+,\d{3}$/.test(plain)
    ? `Write ${plain.replace(",", "")} or ${Number(plain.replace(",", "."))}.`
    : "Write a number, such as 12.50.";
}

/** The value of an input of the type `datetime-local`, in the time zone of the person. */
export function toLocalInput(time: string): string | undefined {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return undefined;
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const milliseconds = date.getMilliseconds();
  const fraction = milliseconds === 0 ? "" : `.${String(milliseconds).padStart(3, "0")}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${fraction}`;
}

export function fromLocalInput(text: string): string | undefined {
  const date = new Date(text);
  return text === "" || Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

export const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text);

/** One line, cut when it is long. */
export function summaryOf(value: Json | undefined, length = 80): string {
  if (value === undefined) return "not set";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Parses JSON; a failure is its message. */
export function parseJson(text: string): { value: Json } | { error: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
