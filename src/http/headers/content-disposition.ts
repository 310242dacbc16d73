// Reads and writes Content-Disposition and file names.

import { isUtf8 } from "node:buffer";
import { quotedInner, splitField, trimField } from "./field-list.ts";

/** Longer file names are cut. */
const maxNameLength = 255;

export interface Disposition {
  readonly kind: string;
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Returns undefined for an invalid field. In `field` each byte is one character. */
export function readDisposition(field: string): Disposition | undefined {
  const [kind = "", ...pieces] = splitField(field, ";").map(trimField);
  if (!token.test(kind)) return undefined;
  const parameters = new Map<string, string>();
  for (const piece of pieces) {
    if (piece === "") continue;
    const equals = piece.indexOf("=");
    const name = trimField(piece.slice(0, Math.max(0, equals))).toLowerCase();
    const value = parameterValue(trimField(piece.slice(equals + 1)));
    // A repeated parameter makes the field invalid (RFC 6266 §4.1).
    if (!token.test(name) || value === undefined || parameters.has(name)) return undefined;
    parameters.set(name, utf8(value));
  }
  return { kind: kind.toLowerCase(), parameters };
}

/** Returns a quoted string without its quotes, or an unquoted value. */
function parameterValue(text: string): string | undefined {
  if (!text.includes('"')) return text;
  const inner = quotedInner(text);
  return inner === undefined ? undefined : unquoted(inner);
}

/** Unescapes only quotes and backslashes: old browsers send `C:\photo.png` unescaped. */
const unquoted = (text: string): string => text.replace(/\\(["\\])/g, "$1");

/** Invalid UTF-8 is read as Latin-1, as RFC 9110 says for old fields. */
function utf8(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : text;
}

/** Browsers escape only these characters in form names (HTML §4.10.22.8). */
const escapes: Readonly<Record<string, string>> = { "%22": '"', "%0d": "\r", "%0a": "\n" };
export const unescapeName = (name: string): string =>
  name.replace(/%22|%0d|%0a/gi, (written) => escapes[written.toLowerCase()] ?? written);

/** Returns `filename*` (RFC 8187), else `filename`; empty when neither can be decoded. */
export function fileNameOf({ parameters }: Disposition): string | undefined {
  const extended = parameters.get("filename*");
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(extended ?? "") ?? [];
  const decoded = encoded === undefined ? undefined : percentDecoded(encoded);
  return decoded ?? parameters.get("filename") ?? (extended === undefined ? undefined : "");
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns the last path segment without characters that could deceive a reader. The name is for display only. */
export function cleanFileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const visible = last.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "").trim();
  const isName = visible !== "." && visible !== "..";
  return isName ? [...visible].slice(0, maxNameLength).join("").toWellFormed() : "";
}

/** Writes an ASCII name for old clients and the whole name for all others (RFC 6266 App. D). */
export function writeDisposition(kind: "inline" | "attachment", name: string): string {
  if (name === "") return kind;
  const ascii = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]|["%/\\]/gu, "_");
  const extended = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const isPlain = ascii === name;
  return `${kind}; filename="${ascii}"${isPlain ? "" : `; filename*=UTF-8''${extended}`}`;
}
