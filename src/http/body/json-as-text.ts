// Rejects JSON that is sent as text/plain, as fetch does when no Content-Type is set.

import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { createTypes, unsupported } from "../headers/media-type.ts";
import { BodyError } from "./decoding.ts";

/**
 * Passes the content on unless it is a JSON object or array, or NDJSON. Content that begins like JSON
 * is buffered up to `maxBytes`; longer content is checked by its beginning.
 */
export async function* rejectJsonText(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  /** Undefined while only white space has arrived. */
  let isLikeJson: boolean | undefined;
  for await (const chunk of content) {
    isLikeJson ??= beginsLikeJson(chunk);
    chunks.push(chunk);
    length += chunk.length;
    if (isLikeJson !== false && length <= maxBytes) continue;
    if (isLikeJson && beginsWithMember(Buffer.concat(chunks))) throw new BodyError(jsonAsText);
    isLikeJson = false;
    yield* chunks.splice(0);
  }
  if (isJson(Buffer.concat(chunks))) throw new BodyError(jsonAsText);
  yield* chunks;
}

/** White space of JSON, and the bytes of a byte order mark. */
const blank = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

function beginsLikeJson(chunk: Uint8Array): boolean | undefined {
  const first = chunk.find((byte) => !blank.has(byte));
  return first === undefined ? undefined : first === 0x7b || first === 0x5b;
}

/** An object with a member, on its own or first in an array. */
const startOfMember = /^\s*(?:\[\s*)?\{\s*"(?:[^"\\]|\\.)*"\s*:/;
const startBytes = 4_096;

const beginsWithMember = (bytes: Buffer): boolean =>
  startOfMember.test(bytes.toString("utf8", 0, startBytes));

function isJson(bytes: Buffer): boolean {
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return false;
  if (isObject(text)) return true;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length > 0 && lines.every(isObject);
}

/** Whether the text is a JSON object or array. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

const jsonAsText = unsupported(
  createTypes,
  "The body is JSON, but Content-Type is text/plain. Send `Content-Type: application/json`; to store it as a file, send `application/octet-stream`.",
);
