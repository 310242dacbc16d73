// Makes pictures of every kind: with orientation and location, in odd formats, damaged, and bombs.

import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";

/** Left is red and right is blue, in the upper half; below it is white. */
export function flag(width = 40, height = 20): Sharp {
  const pixels = Buffer.alloc(width * height * 3, 255);
  for (let y = 0; y < height / 2; y++)
    for (let x = 0; x < width; x++)
      pixels.set(x < width / 2 ? [255, 0, 0] : [0, 0, 255], (y * width + x) * 3);
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** How each EXIF orientation is stored: turned clockwise by degrees, after it is mirrored. */
const stored: Readonly<Record<number, readonly [isMirrored: boolean, degrees: number]>> = {
  ...{ 1: [false, 0], 2: [true, 0], 3: [false, 180], 4: [true, 180] },
  ...{ 5: [true, 270], 6: [false, 270], 7: [true, 90], 8: [false, 90] },
};

/** A flag that is stored in another orientation, with the place where it was taken. */
export async function turned(orientation: number): Promise<Buffer> {
  const [isMirrored, degrees] = stored[orientation] ?? [false, 0];
  const mirrored = await (isMirrored ? flag().flop() : flag()).png().toBuffer();
  return sharp(mirrored)
    .rotate(degrees)
    .jpeg({ quality: 100, chromaSubsampling: "4:4:4" })
    .withExif({
      IFD0: { Orientation: `${orientation}`, Copyright: "somebody" },
      IFD3: { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 3230/100" },
    })
    .withMetadata({ orientation })
    .toBuffer();
}

export const odd: Readonly<Record<string, () => Promise<Buffer>>> = {
  "CMYK JPEG": () => flag().toColourspace("cmyk").jpeg().toBuffer(),
  "16-bit PNG": () => flag().toColourspace("rgb16").png().toBuffer(),
  "grey PNG": () => flag().greyscale().png().toBuffer(),
  "PNG with a palette": () => flag().png({ palette: true }).toBuffer(),
  "interlaced PNG": () => flag().png({ progressive: true }).toBuffer(),
  "progressive JPEG": () => flag().jpeg({ progressive: true }).toBuffer(),
  "transparent WebP": () => flag().ensureAlpha(0.5).webp().toBuffer(),
  "animated GIF": async () => (await frames()).gif().toBuffer(),
  "animated WebP": async () => (await frames()).webp().toBuffer(),
  AVIF: () => flag().avif({ effort: 0 }).toBuffer(),
  "one pixel": () => flag(1, 1).png().toBuffer(),
  "one line": () => flag(300, 1).png().toBuffer(),
};

async function frames(): Promise<Sharp> {
  const images = [await flag().png().toBuffer(), await flag().flop().png().toBuffer()];
  return sharp(images, { join: { animated: true } });
}

/** Pictures that cannot be rendered, whatever they say they are. */
export const broken: Readonly<Record<string, Buffer>> = {
  "nothing at all": Buffer.alloc(0),
  text: Buffer.from("This is not a picture."),
  "an SVG": Buffer.from(
    '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
  ),
  "a PDF": Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>"),
  "the start of a PNG": Buffer.from("89504e470d0a1a0a", "hex"),
  "a PNG of 50,000 by 50,000 pixels": png(50_000, 50_000, deflateSync(Buffer.alloc(1_000))),
  "a PNG of 200 megapixels": png(20_000, 10_000, deflateSync(Buffer.alloc(10_000_000))),
  "a PNG with a wrong checksum": flipped(png(2, 2, deflateSync(Buffer.alloc(14)))),
};

/** A small PNG of one colour. */
export const plain = png(2, 2, deflateSync(Buffer.alloc(14)));

/** The same with other chunks before its pixels. */
export const withChunks = (...chunks: readonly Buffer[]): Buffer =>
  Buffer.concat([plain.subarray(0, 33), ...chunks, plain.subarray(33)]);

/** With 3,000 comments that unpack to 27 GB. */
export const withLargeComments = (): Buffer => {
  const packed = deflateSync(Buffer.alloc(9_000_000));
  const comment = chunk("zTXt", Buffer.concat([Buffer.from("a\0\0"), packed]));
  return withChunks(...Array.from({ length: 3_000 }, () => comment));
};

/** A PNG of 8-bit colours with these bytes as its pixels. */
function png(width: number, height: number, pixels: Buffer): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const end = chunk("IEND", Buffer.alloc(0));
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", pixels), end]);
}

export function chunk(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function flipped(bytes: Buffer): Buffer {
  bytes.writeUInt8(bytes.readUInt8(30) ^ 0xff, 30);
  return bytes;
}
