// Writes header fields as the lines of an HTTP/1.1 message.

const ascii = /^[\t\r\n -~]*$/;
const asciiValue = /^[\t -~]*$/;
const forbidden = /[^\t -~\x80-\xff]/;

/** Whether all characters are in ASCII, so that they are the same bytes in every encoding. */
export const isAscii = (text: string): boolean => ascii.test(text);

/** Returns whether the value is in ASCII. Throws if it has a character that no field may have. */
export function checkValue(value: string): boolean {
  if (asciiValue.test(value)) return true;
  if (forbidden.test(value)) throw new TypeError("A header field has a forbidden character.");
  return false;
}

/** Writes each field but those that are left out. */
export function fieldLines(headers: Headers, leavesOut: ReadonlySet<string>): string {
  let text = "";
  headers.forEach((value, name) => {
    if (leavesOut.has(name)) return;
    checkValue(value);
    text += `${capitalized(name)}: ${value}\r\n`;
  });
  return text;
}

const names = new Map([
  ["etag", "ETag"],
  ["www-authenticate", "WWW-Authenticate"],
]);

/** A program sends few different names. */
export function capitalized(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const written = name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
  names.set(name, written);
  return written;
}
