// Content-Disposition: the names that clients give files, and the name under which a file is saved.

import { isUtf8 } from "node:buffer";
import { quotedInner, splitField, trimField } from "./field-list.ts";

/** At most so many characters of a file's name are kept. */
const maxNameLength = 255;

export interface Disposition {
  readonly kind: string;
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Undefined for what cannot be read. The text is as header fields come: each byte a character. */
export function readDisposition(field: string): Disposition | undefined {
  const [kind = "", ...pieces] = splitField(field, ";").map(trimField);
  if (!token.test(kind)) return undefined;
  const parameters = new Map<string, string>();
  for (const piece of pieces) {
    if (piece === "") continue;
    const equals = piece.indexOf("=");
    const name = trimField(piece.slice(0, Math.max(0, equals))).toLowerCase();
    const value = parameterValue(trimField(piece.slice(equals + 1)));
    // A second one of the same name makes the field invalid (RFC 6266 §4.1).
    if (!token.test(name) || value === undefined || parameters.has(name)) return undefined;
    parameters.set(name, utf8(value));
  }
  return { kind: kind.toLowerCase(), parameters };
}

/** A quoted string without its quotes, or a text without any. */
function parameterValue(text: string): string | undefined {
  if (!text.includes('"')) return text;
  const inner = quotedInner(text);
  return inner === undefined ? undefined : unquoted(inner);
}

/** Only what must be escaped: old browsers send `C:\photo.png` as it is. */
const unquoted = (text: string): string => text.replace(/\\(["\\])/g, "$1");

/** What is no UTF-8 is Latin-1, as RFC 9110 has it for old fields. */
function utf8(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : text;
}

/** Browsers write these in the names of forms so, and no others (HTML §4.10.22.8). */
const escapes: Readonly<Record<string, string>> = { "%22": '"', "%0d": "\r", "%0a": "\n" };
export const unescapeName = (name: string): string =>
  name.replace(/%22|%0d|%0a/gi, (written) => escapes[written.toLowerCase()] ?? written);

/** RFC 8187: the one that was sent for all characters, else the plain one; empty when it cannot be read. */
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

/** The last segment of a path, without what could deceive a reader: a name is only shown, and opens nothing. */
export function cleanFileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const visible = last.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "").trim();
  const isName = visible !== "." && visible !== "..";
  return isName ? [...visible].slice(0, maxNameLength).join("").toWellFormed() : "";
}

/** For old clients ASCII without anything that needs an escape, for all others the whole name (RFC 6266 App. D). */
export function writeDisposition(kind: "inline" | "attachment", name: string): string {
  if (name === "") return kind;
  const ascii = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]|["%\\]/gu, "_");
  const extended = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const isPlain = ascii === name;
  return `${kind}; filename="${ascii}"${isPlain ? "" : `; filename*=UTF-8''${extended}`}`;
}
