// Draws the photo of a product as a PNG: the given shapes, soft, on a plain background.

import { crc32, deflateSync } from "node:zlib";

export type Colour = readonly [red: number, green: number, blue: number];

/** A box with round corners, in parts of the picture's height; a disc is as round as it is wide. */
export interface Shape {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** How round its corners are: 0 to 1. */
  readonly round: number;
  /** Only an outline of this width. */
  readonly line?: number;
  /** How much lighter (above 1) or darker it is. */
  readonly light?: number;
}

const width = 400;
const height = 300;

export function drawPhoto(shapes: readonly Shape[], colour: Colour, wall: Colour): Buffer {
  const rows = Array.from({ length: height }, (_, y) => rowOf(y, shapes, colour, wall));
  return encodePng(Buffer.concat(rows));
}

/** A row of pixels after the number of its filter, which is none. */
function rowOf(y: number, shapes: readonly Shape[], colour: Colour, wall: Colour): Buffer {
  // The lower part is the table that it stands on.
  const shade = y > height * 0.72 ? 0.86 : 1 - (0.12 * y) / height;
  const pixel = wall.map((part) => Math.round(part * shade));
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width * 3, Buffer.from(pixel))]);
  for (const shape of shapes)
    if (Math.abs(y / height - shape.y) < shape.height / 2 + margin) paint(row, shape, colour, y);
  return row;
}

/** Outlines and soft edges reach a little beyond the shape. */
const margin = 0.03;

function paint(row: Buffer, shape: Shape, colour: Colour, y: number): void {
  const light = (shape.light ?? 1) * (1.08 - (0.2 * y) / height);
  const middle = width / 2 + (shape.x - 0.5) * height;
  const reach = (shape.width / 2 + margin) * height;
  const end = Math.min(width, Math.ceil(middle + reach));
  for (let x = Math.max(0, Math.floor(middle - reach)); x < end; x++) {
    const part = coverOf(shape, (x - width / 2) / height + 0.5, y / height);
    for (let n = 0; part > 0 && n < 3; n++) {
      const under = row[1 + x * 3 + n] ?? 0;
      row[1 + x * 3 + n] = Math.min(255, under * (1 - part) + (colour[n] ?? 0) * light * part);
    }
  }
}

/** How much of a pixel the shape covers, from its distance to the edge. */
function coverOf(shape: Shape, x: number, y: number): number {
  const radius = (Math.min(shape.width, shape.height) / 2) * shape.round;
  const outX = Math.abs(x - shape.x) - shape.width / 2 + radius;
  const outY = Math.abs(y - shape.y) - shape.height / 2 + radius;
  const outside = Math.hypot(Math.max(outX, 0), Math.max(outY, 0));
  const distance = outside + Math.min(Math.max(outX, outY), 0) - radius;
  const edge = shape.line === undefined ? distance : Math.abs(distance) - shape.line / 2;
  return Math.min(1, Math.max(0, 0.5 - edge * height));
}

function encodePng(pixels: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each of three colours.
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, sum]);
}
