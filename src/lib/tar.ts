// Tar archives (POSIX ustar, regular files only): the header, padding and end that a writer adds, and a reader of streams.

const blockBytes = 512;
/** The largest size that fits into eleven octal digits. */
const maxOctal = 8 ** 11 - 1;

/** Thrown when bytes are no tar archive, or end too early. */
export class TarError extends Error {}

/** Returns what stands before the bytes of a file. The name must be ASCII and shorter than 100 characters. */
export function tarHeader(
  name: string,
  size: number,
  modifiedAt: number,
  mode = 0o600,
): Uint8Array {
  if (name.length >= 100) throw new RangeError(`${name} is too long for a tar archive`);
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, "latin1");
  header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100, "latin1");
  header.write("0000000\0", 108, "latin1");
  header.write("0000000\0", 116, "latin1");
  writeNumber(header, 124, size);
  writeNumber(header, 136, Math.floor(modifiedAt / 1_000));
  header.write("        ", 148, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** Returns the zeros that fill the last block of a file. */
export const tarPadding = (size: number): Uint8Array =>
  new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);

/** What stands at the end of an archive. */
export const tarEnd = (): Uint8Array => new Uint8Array(2 * blockBytes);

/** A number that does not fit into octal digits is written in base 256. */
function writeNumber(header: Buffer, start: number, value: number): void {
  if (value <= maxOctal) {
    header.write(`${value.toString(8).padStart(11, "0")}\0`, start, "latin1");
    return;
  }
  header[start] = 0x80;
  header.writeBigUInt64BE(BigInt(value), start + 4);
}

function readNumber(header: Buffer, start: number, length: number): number {
  if (header[start] === 0x80) return Number(header.readBigUInt64BE(start + 4));
  const text = header
    .toString("latin1", start, start + length)
    .replaceAll("\0", " ")
    .trim();
  return /^[0-7]{1,12}$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

/** The sum of all bytes, with spaces in place of the checksum itself. */
function checksumOf(header: Buffer): number {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 32 : byte;
  return sum;
}

export interface TarEntry {
  readonly name: string;
  readonly size: number;
  /** Must be read to its end before the next entry. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Yields the regular files of an archive. Throws TarError when it is damaged or ends too early. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = new BlockReader(source);
  for (;;) {
    const header = await reader.take(blockBytes);
    if (header.every((byte) => byte === 0)) break;
    const size = readNumber(header, 124, 12);
    if (readNumber(header, 148, 8) !== checksumOf(header) || !(size >= 0))
      throw new TarError("it is not a tar archive, or it is damaged");
    const end = header.indexOf(0);
    const name = header.toString("latin1", 0, Math.min(end < 0 ? 100 : end, 100));
    const isFile = header[156] === 0x30 || header[156] === 0;
    if (isFile) yield { name, size, bytes: reader.pieces(size) };
    else await reader.skip(size);
    await reader.take(tarPadding(size).length);
  }
  await reader.take(blockBytes);
  // The end of a compressed archive has its checksum.
  await reader.drain();
}

class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns this many bytes. */
  async take(size: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces(size)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async skip(size: number): Promise<void> {
    for await (const _ of this.pieces(size));
  }

  async *pieces(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      const piece = await this.#next();
      if (piece === undefined) throw new TarError("it ends too early");
      this.#rest = piece.subarray(left);
      const taken = piece.subarray(0, left);
      left -= taken.length;
      yield taken;
    }
  }

  async drain(): Promise<void> {
    while ((await this.#next()) !== undefined) this.#rest = new Uint8Array();
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#rest.length > 0) return this.#rest;
    const { done, value } = await this.#source.next();
    return done ? undefined : value;
  }
}
