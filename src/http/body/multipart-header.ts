// Parses the header section of a multipart part (RFC 2046 §5.1, RFC 5322 §2.2).

import { isUtf8 } from "node:buffer";
import { trimField } from "../headers/field-list.ts";

/** These decide what a part is, so a second one would be ambiguous. */
const singleFields = new Set(["content-disposition", "content-type"]);

const fieldShape = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/;
const forbidden = /[\0\r\n]/;

/** Returns the first field of each name in lower case; a string describes an error. */
export function readPartHeader(lines: readonly Uint8Array[]): ReadonlyMap<string, string> | string {
  if (lines.length === 0) return "a part has no header (RFC 7578 §4.2)";
  const fields = new Map<string, string>();
  for (const line of unfolded(lines)) {
    if (!isUtf8(Buffer.from(line, "latin1"))) return "the header of a part is not UTF-8";
    const [, name = "", value = ""] = fieldShape.exec(line) ?? [];
    if (name === "" || forbidden.test(line))
      return "a line in the header of a part is not `name: value`";
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, trimField(value));
    else if (singleFields.has(key)) return `a part has more than one ${name}`;
  }
  return fields;
}

/** A line that begins with white space continues the one before it (RFC 5322 §2.2.3). */
function unfolded(lines: readonly Uint8Array[]): readonly string[] {
  const whole: string[] = [];
  for (const bytes of lines) {
    const line = Buffer.from(bytes).toString("latin1");
    const last = whole.at(-1);
    if (last !== undefined && /^[ \t]/.test(line)) whole[whole.length - 1] = last + line;
    else whole.push(line);
  }
  return whole;
}
