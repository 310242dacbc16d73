// The names and values of header fields, as HTTP/1.1 writes them.

const asciiValue = /^[\t -~]*$/;
const forbidden = /[^\t -~\x80-\xff]/;

/** Returns whether the value is in ASCII, so that it is the same bytes in every encoding. Throws if it has a character that no field may have. */
export function checkValue(value: string): boolean {
  if (asciiValue.test(value)) return true;
  if (forbidden.test(value)) throw new TypeError("A header field has a forbidden character.");
  return false;
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
