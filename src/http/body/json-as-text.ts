// Refuses JSON that is sent as plain text, which is what fetch does when no Content-Type is set.

import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { takenByCreate, unsupported } from "../headers/media-type.ts";
import { Undecodable } from "./decoding.ts";

/**
 * The content, unless it is a JSON object or array, or has a JSON object on every line. Content that
 * begins like JSON is held until its end, up to `maxBytes`; longer content is judged by its beginning.
 */
export async function* refuseJsonText(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const held: Uint8Array[] = [];
  let length = 0;
  /** Undefined as long as only white space has come. */
  let isLikeJson: boolean | undefined;
  for await (const chunk of content) {
    isLikeJson ??= beginsLikeJson(chunk);
    held.push(chunk);
    length += chunk.length;
    if (isLikeJson !== false && length <= maxBytes) continue;
    if (isLikeJson && beginsWithMember(Buffer.concat(held))) throw new Undecodable(jsonAsText);
    isLikeJson = false;
    yield* held.splice(0);
  }
  if (isJson(Buffer.concat(held))) throw new Undecodable(jsonAsText);
  yield* held;
}

/** White space of JSON, and the bytes of a byte order mark. */
const blank = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

function beginsLikeJson(chunk: Uint8Array): boolean | undefined {
  const first = chunk.find((byte) => !blank.has(byte));
  return first === undefined ? undefined : first === 0x7b || first === 0x5b;
}

/** An object with a member, alone or as the first of an array. */
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
  takenByCreate,
  "The body is JSON, but says that it is plain text. Send `Content-Type: application/json`; to store it as a file, send `application/octet-stream`.",
);
