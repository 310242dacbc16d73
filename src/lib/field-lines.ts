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
    text += `${fieldName(name).written}: ${value}\r\n`;
  });
  return text;
}

/** The same object for the same name in any case, so that names are compared quickly. */
export interface FieldName {
  readonly lowerCase: string;
  /** As it is sent. */
  readonly written: string;
}

const names = new Map<string, FieldName>();
const writtenOtherwise = new Map([
  ["etag", "ETag"],
  ["www-authenticate", "WWW-Authenticate"],
]);

/** A program sends few different names. */
export function fieldName(name: string): FieldName {
  const known = names.get(name);
  if (known !== undefined) return known;
  const lowerCase = name.toLowerCase();
  const made =
    lowerCase === name
      ? { lowerCase, written: writtenOtherwise.get(name) ?? capitalized(name) }
      : fieldName(lowerCase);
  names.set(name, made);
  return made;
}

const capitalized = (lowerCase: string): string =>
  lowerCase.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
