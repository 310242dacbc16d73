// Copies a part of a text, because a part keeps the whole text in memory.

/** Returns a copy of a text in Latin-1, such as the value of a header field, to be kept longer than its request. */
export const ownText = (text: string): string => Buffer.from(text, "latin1").toString("latin1");

/** Returns a copy of any text. */
export const ownUnicode = (text: string): string =>
  Buffer.from(text, "utf16le").toString("utf16le");
