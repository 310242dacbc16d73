// Reads the parameters of a GET of a file: the name of a download, and the size and format of a picture.

import {
  type PictureFit,
  type PictureFormat,
  type PictureRequest,
  pictureFits,
  pictureFormats,
} from "../../model/picture.ts";
import type { ParameterError, Problem } from "../../model/problem.ts";
import { invalid, readParameters, type SearchParams } from "../request/request-target.ts";

const names = ["download", "redirect", "width", "height", "fit", "format", "description"] as const;

export type FileParameters = Partial<Record<(typeof names)[number], string>>;

export const readFileParameters = (searchParams: SearchParams): FileParameters | Problem =>
  readParameters(searchParams, names);

/** Returns undefined when the file itself is asked for. */
export function readPictureRequest(
  parameters: FileParameters,
): PictureRequest | "description" | Problem | undefined {
  const { width, height, fit = "cover", format, description } = parameters;
  const picture = ["width", "height", "fit", "format"] as const;
  const [first] = picture.filter((name) => parameters[name] !== undefined);
  const errors: ParameterError[] = [];
  const check = (isValid: boolean, parameter: string, detail: string) =>
    isValid || errors.push({ parameter, detail });
  check(isPixels(width), "width", pixelsNeeded);
  check(isPixels(height), "height", pixelsNeeded);
  check(isFit(fit), "fit", `must be one of: ${pictureFits.join(", ")}`);
  check(isFormat(format), "format", `must be one of: ${pictureFormats.join(", ")}`);
  check(description === undefined || description === "true", "description", "must be true");
  if (first !== undefined) {
    check(width !== undefined || height !== undefined, first, "needs width, height, or both");
    check(description === undefined, first, "cannot be combined with description");
  }
  if (errors.length > 0) return invalid(errors);
  if (description !== undefined) return "description";
  if (first === undefined || !isFit(fit) || !isFormat(format)) return undefined;
  return { width: pixelsOf(width), height: pixelsOf(height), fit, format };
}

const pixelsNeeded = "must be a whole number of pixels, such as 200";
const isPixels = (text: string | undefined): boolean =>
  text === undefined || /^[1-9]\d{0,4}$/.test(text);
const pixelsOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

const isFit = (text: string): text is PictureFit =>
  (pictureFits as readonly string[]).includes(text);
const isFormat = (text: string | undefined): text is PictureFormat | undefined =>
  text === undefined || (pictureFormats as readonly string[]).includes(text);
