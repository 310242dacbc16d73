// Random multipart bodies whose meaning is known, and random changes that make them valid or broken.

export interface SentFile {
  readonly field: string;
  readonly name: string;
  readonly bytes: Buffer;
}

/** A multipart body and what a server must make of it. */
export interface GeneratedBody {
  readonly boundary: string;
  readonly body: Buffer;
  readonly texts: readonly (readonly [name: string, value: string])[];
  readonly files: readonly SentFile[];
}

export class Chance {
  readonly #next: () => number;

  constructor(next: () => number) {
    this.#next = next;
  }

  /** A whole number from 0 up to `end` and without it. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  of(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** Cuts the bytes into pieces of random lengths. */
  pieces(bytes: Buffer, most: number): readonly Buffer[] {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + this.below(this.pick([1, 3, 20, most]));
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    return pieces;
  }
}

const boundaries = ["b", "a-boundary", "----WebKitFormBoundaryx7", "''()+_,-./:=?", "x".repeat(70)];

/** A boundary as the parameter of Content-Type. */
export const contentType = (boundary: string): string =>
  `multipart/form-data; boundary="${boundary}"`;

export function generateBody(chance: Chance): GeneratedBody {
  const boundary = chance.pick(boundaries);
  const texts: (readonly [string, string])[] = [];
  const files: SentFile[] = [];
  const pieces: (string | Buffer)[] = [];
  const padding = () => (chance.of(0.2) ? chance.pick([" ", "\t", " \t ", " ".repeat(100)]) : "");
  if (chance.of(0.2)) pieces.push(chance.pick(["preamble\r\n", "\r\n", "-\r\n\r\n", "--\r\n"]));
  for (let index = chance.below(5); index >= 0; index--) {
    pieces.push(`--${boundary}${padding()}\r\n`);
    if (chance.of(0.5)) {
      const value = safeContent(chance, boundary, textFragments).toString();
      texts.push([`t${index}`, value]);
      pieces.push(header(chance, `name="t${index}"`), value);
    } else {
      const field = `f${index}`;
      const name = chance.pick(["a.bin", "naïve 😀.png", "mark\ufeff.txt", "à", "x;y=z", "�.txt"]);
      const bytes = safeContent(chance, boundary, fileFragments);
      files.push({ field, name, bytes });
      pieces.push(header(chance, `name="${field}"; filename="${name}"`), bytes);
    }
    pieces.push("\r\n");
  }
  const ending = chance.pick([
    "",
    "\r\n",
    " \t",
    " \r\n",
    "\r\nepilogue",
    `\r\n--${boundary}\r\nx`,
  ]);
  pieces.push(`--${boundary}--${ending}`);
  const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece as Buffer)));
  return { boundary, body, texts, files };
}

function header(chance: Chance, parameters: string): string {
  const separator = chance.pick(["; ", ";", ";\r\n ", " ; "]);
  const disposition = `${chance.pick(["Content-Disposition", "content-disposition", "CONTENT-DISPOSITION"])}:${chance.pick([" ", "", "\t"])}form-data${separator}${parameters}`;
  const lines = [disposition];
  if (chance.of(0.3)) lines.push("X-Unknown: 1", "X-Unknown: 2");
  if (chance.of(0.2)) lines.push("Content-Transfer-Encoding: binary");
  if (chance.of(0.3)) lines.reverse();
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const textFragments = ["\ufeff", "a", "é", "😀", "\r\n", "\n", "\r", "--", "0", '"', " ", "\r\n--"];
const fileFragments = [...textFragments, "\0", "\r\r\n", "\n\r\n", "x".repeat(300)];

/** Content that is full of beginnings of the delimiter and never holds one. */
function safeContent(chance: Chance, boundary: string, fragments: readonly string[]): Buffer {
  const delimiter = `\r\n--${boundary}`;
  const near = Array.from({ length: 5 }, () => delimiter.slice(0, chance.below(delimiter.length)));
  for (;;) {
    const texts = Array.from({ length: chance.below(12) }, () =>
      chance.pick([...fragments, ...near]),
    );
    // The line end before the content counts, and so does the one behind it.
    const isSafe = !`\r\n${texts.join("")}\r\n`.includes(delimiter);
    if (isSafe) return Buffer.from(texts.join(""));
  }
}

/** Changes the body at random places. What it means then is not known. */
export function mutate(chance: Chance, { body, boundary }: GeneratedBody): Buffer {
  let changed = body;
  for (let times = 1 + chance.below(3); times > 0; times--) {
    const at = chance.below(changed.length + 1);
    const length = chance.pick([1, 2, 5, 40]);
    const [before, after] = [changed.subarray(0, at), changed.subarray(at)];
    const cut = after.subarray(length);
    const inserted = () => Buffer.from(chance.pick(insertions(boundary)), "latin1");
    changed = chance.pick<() => Buffer>([
      () => Buffer.concat([before, cut]),
      () => Buffer.concat([before, after.subarray(0, length), after]),
      () => Buffer.concat([before, chance.bytes(Math.min(length, after.length)), cut]),
      () => before,
      () => after,
      () => Buffer.concat([before, inserted(), after]),
      () => Buffer.concat([before, inserted(), cut]),
      () => Buffer.from(changed.toString("latin1").replace("filename", "name"), "latin1"),
      () => Buffer.from(changed.toString("latin1").replace("\r\n\r\n", "\r\n"), "latin1"),
      () => Buffer.from(changed.toString("latin1").replaceAll("\r\n", "\n"), "latin1"),
    ])();
  }
  return changed;
}

const insertions = (boundary: string): readonly string[] => [
  "\r\n",
  "\r\n\r\n",
  "\r",
  "\n",
  "\0",
  "--",
  "\xff\xfe",
  "\xef\xbb\xbf",
  `\r\n--${boundary}`,
  `\r\n--${boundary}\r\n`,
  `\r\n--${boundary}--`,
  `\r\n--${boundary}--\r\n`,
  `\r\n--${boundary}\r\nContent-Disposition: form-data; name="x`,
  `\r\n--${boundary}\r\nContent-Disposition: form-data; name="x"; filename="x"\r\n\r\n`,
  'Content-Disposition: form-data; name="again"\r\n',
  "Content-Type: text/plain; charset=utf-16\r\n",
  "Content-Type: multipart/mixed; boundary=x\r\n",
  "Content-Type: application/json\r\n".repeat(300),
  `X: ${"y".repeat(9_000)}\r\n`,
];
