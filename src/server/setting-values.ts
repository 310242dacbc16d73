// Defines a setting, and parses the values of settings: a function returns undefined when a value is not allowed.

import { isIP } from "node:net";
import { resolve } from "node:path";
import { isS3Url, parseLocation } from "../store/s3/location.ts";

export function folderPath(text: string, folder: string): string | undefined {
  return text === "" || text.includes("\0") ? undefined : resolve(folder, text);
}

export function folderOrBucket(text: string, folder: string): string | undefined {
  if (isS3Url(text)) return parseLocation(text) && text;
  // Another scheme is a mistake, not the name of a folder, and so is a slash that is missing.
  return /^([\w+.-]+:\/\/|s3:)/i.test(text) ? undefined : folderPath(text, folder);
}

const switches = ["on", "off"] as const;

export const onOrOff = {
  placeholder: "switch",
  allowed: "on or off",
  choices: switches,
  read: (text: string) => switches.find((choice) => choice === text),
} as const;

export const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*$/;

export function wholeNumber(text: string, least: number, most: number): number | undefined {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : undefined;
}

/** What a setting of whole numbers has. */
export const wholeNumbers = (placeholder: string, least: number, most: number) =>
  ({
    type: "number",
    placeholder,
    allowed: `a whole number from ${shown(least)} to ${shown(most)}`,
    read: (text: string) => wholeNumber(text, least, most),
  }) as const;

/** The same for a limit, where 0 means none. */
export const limitUpTo = (placeholder: string, most: number) =>
  ({
    ...wholeNumbers(placeholder, 0, most),
    allowed: `a whole number from 0 (no limit) to ${most}`,
  }) as const;

/** Round numbers of bytes are easier to read in larger units. */
function shown(number: number): string {
  const units = ["MiB", "GiB", "TiB", "PiB"];
  const power = units.findLastIndex((_, index) => number % 1024 ** (index + 2) === 0);
  const unit = units[power];
  return number === 0 || unit === undefined
    ? String(number)
    : `${number} (${number / 1024 ** (power + 2)} ${unit})`;
}

export function listOf(
  text: string,
  isAllowed: (item: string) => boolean,
): readonly string[] | undefined {
  const items = text === "" ? [] : text.split(",").map((item) => item.trim());
  return items.every(isAllowed) ? Object.freeze(items) : undefined;
}

export function isAddressRange(item: string): boolean {
  const [address = "", bits, ...rest] = item.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || wholeNumber(bits, 0, family === 4 ? 32 : 128) !== undefined;
}

export function isAuthority(item: string): boolean {
  if (item === "*") return true;
  return /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(item) && URL.canParse(`http://${item}`);
}

export function isOrigin(item: string): boolean {
  const url = URL.parse(item);
  return url !== null && url.host !== "" && item === `${url.protocol}//${url.host}`;
}

/** With one host: a primary that can move needs a name that moves with it. */
export function postgresUrl(text: string): string | undefined {
  const { protocol = "", host = "" } = URL.parse(text) ?? {};
  return /^postgres(?:ql)?:$/.test(protocol) && !host.includes(",") ? text : undefined;
}

export function baseUrl(text: string): string | undefined {
  const url = /^https?:\/\/[^\s\\?#@]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  let end = url.pathname.length;
  while (url.pathname[end - 1] === "/") end--;
  return url.origin + url.pathname.slice(0, end);
}

/** What a value was read from. */
export interface Given {
  readonly source: "flag" | "environment" | "file" | "default";
  /** The flag, the variable or the path of the file. */
  readonly from: string | null;
  /** The same for messages. */
  readonly where: string;
  readonly value: unknown;
  readonly folder: string;
}

/** A setting without its flag and variable, which its name gives: maxBodyBytes has --max-body-bytes and RESTANTE_MAX_BODY_BYTES. */
export interface SettingEntry<Value> {
  /** Whether it has no flag: every user of a machine can see command lines. */
  readonly isOnlyVariable?: true;
  /** A variable that other programs read, too. Ours wins. */
  readonly standardVariable?: string;
  /** The JSON type in the config file; a string when it is missing. In flags and variables, commas separate the items of a list. */
  readonly type?: "string" | "number" | "list";
  /** The name of the value in the help. */
  readonly placeholder: string;
  readonly about: string;
  /** The allowed values; completes a sentence that begins with "must be". */
  readonly allowed: string;
  readonly fallback?: string;
  /** All values, where they are few. */
  readonly choices?: readonly string[];
  /** The value may contain a password, so no message shows it. */
  readonly isPrivate?: true;
  /** Whether it can change while the server runs. */
  readonly isReloadable?: true;
  /** Returns the value, or undefined when the text is not allowed. Paths are relative to the folder. */
  readonly read: (text: string, folder: string) => Exclude<Value, undefined> | undefined;
}

export interface Setting<Value> extends SettingEntry<Value> {
  readonly flag: `--${string}` | undefined;
  readonly variable: `RESTANTE_${string}`;
  readonly type: "string" | "number" | "list";
}
