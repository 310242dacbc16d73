// Checks that bytes are one complete zstd frame (RFC 8878 §3.1), because Bun's decoder accepts a
// truncated frame and Node's ignores what follows the first frame. Encoders of streams may add empty frames.

const magic = 0xfd2fb528;
/** Lengths by the flags of the frame header. */
const dictionaryBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];

const blockHeaderBytes = 3;
const checksumBytes = 4;
/** The block type RLE: one byte, repeated. */
const repeated = 1;

/** Reads header after header; the bytes may arrive in any pieces. */
export class ZstdFrame {
  /** The bytes of the current header so far. */
  readonly #header = new Uint8Array(blockHeaderBytes + 2);
  #has = 0;
  #skip = 0;
  #next: "frame" | "block" | "end" = "frame";
  #hasChecksum = false;
  /** Whether the first frame is complete, so that others must be empty. */
  #isAfterFirst = false;
  #isInvalid = false;

  get isWhole(): boolean {
    return !this.#isInvalid && this.#next === "end" && this.#skip === 0;
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.#isInvalid; ) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, bytes.length - at);
        this.#skip -= step;
        at += step;
      } else {
        if (this.#next === "end") {
          this.#next = "frame";
          this.#isAfterFirst = true;
        }
        this.#header[this.#has++] = bytes[at++] ?? 0;
        if (this.#has === (this.#next === "frame" ? 5 : blockHeaderBytes)) this.#read();
      }
    }
  }

  #read(): void {
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = this.#header;
    this.#has = 0;
    if (this.#next === "frame") {
      this.#isInvalid = ((fourth << 24) | (third << 16) | (second << 8) | first) >>> 0 !== magic;
      this.#beginFrame(fifth);
    } else this.#beginBlock(first | (second << 8) | (third << 16));
  }

  #beginFrame(descriptor: number): void {
    const isSingle = (descriptor & 0x20) !== 0;
    const sizeFlag = descriptor >> 6;
    const contentSize = sizeFlag === 0 && isSingle ? 1 : (contentSizeBytes[sizeFlag] ?? 0);
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    this.#skip = (isSingle ? 0 : 1) + (dictionaryBytes[descriptor & 0x03] ?? 0) + contentSize;
    this.#next = "block";
  }

  #beginBlock(header: number): void {
    const isLast = (header & 1) !== 0;
    if (this.#isAfterFirst && header >> 3 !== 0) this.#isInvalid = true;
    this.#skip = ((header >> 1) & 3) === repeated ? 1 : header >> 3;
    if (!isLast) return;
    this.#next = "end";
    if (this.#hasChecksum) this.#skip += checksumBytes;
  }
}
