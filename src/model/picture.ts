// Pictures in other sizes: the formats, fits and sizes that can be asked for, their schema, and the types of files that have them.

/** The formats that pictures are written in. */
export const pictureFormats = ["jpeg", "png", "webp", "avif"] as const;
export type PictureFormat = (typeof pictureFormats)[number];

/** How a picture is fitted into both width and height, as in CSS `object-fit`; `inside` is never enlarged. */
export const pictureFits = ["cover", "contain", "inside", "fill"] as const;
export type PictureFit = (typeof pictureFits)[number];

/** One of them is enough; then the other follows from the shape of the picture. */
export interface PictureSize {
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** What a client asks for. */
export interface PictureRequest extends PictureSize {
  readonly fit: PictureFit;
  /** Undefined for the one of the original. */
  readonly format: PictureFormat | undefined;
}

/** Width, height and preview of a picture, as it is shown. */
export interface PictureDescription {
  readonly width: number;
  readonly height: number;
  /** A `data:` URL of a few hundred bytes. */
  readonly preview: string;
}

/** The media types of originals, and the format that each is written in. A GIF may be animated, a rendering is not. */
const formats: Readonly<Record<string, PictureFormat>> = {
  "image/jpeg": "jpeg",
  "image/png": "png",
  "image/webp": "webp",
  "image/avif": "avif",
  "image/gif": "png",
};

export const pictureTypes = Object.keys(formats);

/** Returns undefined for a file that has no other sizes, such as SVG, which is a program more than a picture. */
export const formatOf = (type: string): PictureFormat | undefined =>
  formats[type.split(";", 1)[0]?.trim().toLowerCase() ?? ""];

export const isSameSize = (one: PictureSize, other: PictureSize): boolean =>
  one.width === other.width && one.height === other.height;

/** `width=200&height=100` */
export const sizeText = ({ width, height }: PictureSize): string =>
  [width && `width=${width}`, height && `height=${height}`].filter(Boolean).join("&");

const pixels = { type: "integer", minimum: 1, maximum: 4096 } as const;

/** As a definition declares them. */
export const picturesSchema = {
  type: "object",
  description: "The sizes in which the pictures among the files can be read.",
  required: ["sizes"],
  properties: {
    sizes: {
      type: "array",
      items: {
        type: "object",
        properties: { width: pixels, height: pixels },
        minProperties: 1,
        additionalProperties: false,
      },
      minItems: 1,
      maxItems: 32,
      examples: [[{ width: 200, height: 200 }, { width: 1200 }]],
    },
  },
  additionalProperties: false,
} as const;
