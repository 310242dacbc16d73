// Reads the media types of files and the boundary of multipart bodies.

import { format, isTypeValid, parse } from "content-type";
import { Problem } from "../../model/problem.ts";
import { checkParameters, isUtf8, typeOf } from "../headers/media-type.ts";

const unknownType = "application/octet-stream";
const maxTypeLength = 255;

/** Returns whether a body of this type is stored as a file. Any kind of JSON is parsed or rejected. */
export function isFile(headers: Headers): boolean {
  const type = typeOf(headers);
  return isTypeValid(type) && !/\*|^multipart\/|json/.test(type);
}

/**
 * Returns the normalized type of a file; application/octet-stream when it is invalid. UTF-8 is left out:
 * texts are served with it, and some clients add it to what a schema calls `text/plain`.
 */
export function storedType(field: string | undefined | null): string {
  const { type, parameters: given } = read(field ?? "");
  const { charset, ...others } = given;
  const isPlain = type.startsWith("text/") && charset !== undefined && isUtf8(charset);
  const parameters = isPlain ? others : given;
  const text = isTypeValid(type) ? format({ type, parameters }) : unknownType;
  return /^[ -~]+$/.test(text) && text.length <= maxTypeLength ? text : unknownType;
}

/** RFC 2046 §5.1.1. */
const boundaryShape = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

export function readBoundary(headers: Headers): string | Problem {
  const field = headers.get("content-type") ?? "";
  const repeated = checkParameters(field);
  if (repeated !== undefined) return repeated;
  const { boundary = "" } = read(field).parameters;
  return boundaryShape.test(boundary) ? boundary : noBoundary;
}

const noBoundary = new Problem(
  "malformed-request",
  "Content-Type needs a boundary of 1 to 70 characters (RFC 2046 §5.1.1); let your HTTP client set it.",
);

function read(field: string): { type: string; parameters: Record<string, string> } {
  try {
    return parse(field);
  } catch {
    return { type: "", parameters: {} };
  }
}

/**
 * The types that a browser may show inline. SVG and PDF can run scripts, so they are downloaded.
 */
const safe = /^(?:(?:image|audio|video)\/(?!.*(?:svg|xml))[a-z0-9.+-]+|text\/plain)$/;

export const isSafeToShow = (type: string): boolean =>
  safe.test(type.split(";", 1)[0]?.trim().toLowerCase() ?? "");

/**
 * Returns the type that a file is sent with. Text without a charset is UTF-8: a browser that guesses can be
 * made to see other characters than everyone else.
 */
export const servedType = (type: string): string =>
  /^text\/(?!.*;\s*charset=)/i.test(type) ? `${type}; charset=utf-8` : type;
