// Leaves the texts out of a PNG: no rendering shows them, and a small file can hold gigabytes of compressed ones.

const signature = Buffer.from("89504e470d0a1a0a", "hex");
const textTypes: ReadonlySet<string> = new Set(["tEXt", "zTXt", "iTXt"]);
/** The length and the type of a chunk. */
const headBytes = 8;
const crcBytes = 4;

/** Passes on all bytes of anything else. */
export async function* withoutTexts(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  /** The start of a chunk whose head has not arrived as a whole. */
  let head = Buffer.alloc(0);
  /** What is left of a chunk, or of a file that is no PNG. */
  let left: number | undefined;
  let isText = false;
  for await (const piece of bytes) {
    let input = Buffer.concat([head, piece]);
    if (left === undefined && input.length >= signature.length)
      left = input.subarray(0, signature.length).equals(signature)
        ? signature.length
        : Number.POSITIVE_INFINITY;
    while (left !== undefined && input.length > 0) {
      if (left === 0) {
        if (input.length < headBytes) break;
        isText = textTypes.has(input.toString("latin1", 4, headBytes));
        left = headBytes + input.readUInt32BE(0) + crcBytes;
      }
      const part = input.subarray(0, left);
      if (!isText) yield part;
      left -= part.length;
      input = input.subarray(part.length);
    }
    head = input;
  }
  if (head.length > 0) yield head;
}
