// The allowed names of collections and ids of resources, and new ids.

import { uuidv7obj } from "uuidv7";

export const collectionName = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const resourceId = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

export const isCollectionName = (name: string): boolean => collectionName.test(name);
export const isResourceId = (id: string): boolean => resourceId.test(id);

/** Where the two digits of each byte are in the text of a UUID. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const digits = Buffer.from("0123456789abcdef");
const text = Buffer.alloc(36, "-");

/**
 * UUIDv7, strictly increasing within a process even inside one millisecond (RFC 9562 §6.2). Its text is made
 * at once: the library appends one digit after another, which takes four times as long.
 */
export function newId(): string {
  const { bytes } = uuidv7obj();
  for (let index = 0; index < places.length; index++) {
    const place = places[index] ?? 0;
    const byte = bytes[index] ?? 0;
    text[place] = digits[byte >> 4] ?? 0;
    text[place + 1] = digits[byte & 15] ?? 0;
  }
  return text.toString("latin1");
}
