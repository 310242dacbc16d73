// The messages between the server and the process that renders pictures, and the limits of a picture.

import type { PictureFit, PictureFormat, PictureSize } from "../../model/picture.ts";

export const pictureLimits = {
  /** Of the file. */
  maxBytes: 64 * 1024 * 1024,
  /** Of the picture, however few bytes it has: 50 megapixels. */
  maxPixels: 50_000_000,
  /** Of the process that renders it. */
  maxMemoryBytes: 400 * 1024 * 1024,
  maxSeconds: 20,
} as const;

export type PictureTask =
  | (PictureSize & {
      readonly kind: "render";
      readonly fit: PictureFit;
      readonly format: PictureFormat;
    })
  | { readonly kind: "describe" };

export interface PictureJob {
  /** The path of the original. */
  readonly input: string;
  /** The path of the result: its SHA-256, and its bytes. */
  readonly output: string;
  readonly task: PictureTask;
}

export const digestBytes = 32;

export type RendererMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly memoryBytes: number }
  | { readonly kind: "failed"; readonly reason: string; readonly memoryBytes: number }
  /** The picture was rendered, and the disk did not take it. `code` is that of the system. */
  | { readonly kind: "unwritten"; readonly code: string; readonly memoryBytes: number };
