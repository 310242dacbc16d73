// Turns what people type into values, and values into what inputs show.

import { parseStrictly } from "../api/exact.ts";
import type { Json } from "../api/json.ts";

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
    return { value: parseStrictly(text) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
