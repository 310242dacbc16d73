// The media types of files, and of bodies that hold them.

import { format, isTypeValid, parse } from "content-type";
import { Problem } from "../../model/problem.ts";
import { repeatedParameter, typeOf } from "../headers/media-type.ts";

const unknownType = "application/octet-stream";
const maxTypeLength = 255;

/** Whether a body of this type is kept as a file. What is JSON of any kind is read, or refused. */
export function isFile(headers: Headers): boolean {
  const type = typeOf(headers);
  return isTypeValid(type) && !/\*|^multipart\/|json/.test(type);
}

/** The type of a file as it is told again; what cannot be read says nothing. */
export function storedType(field: string | undefined | null): string {
  const { type, parameters } = read(field ?? "");
  const text = isTypeValid(type) ? format({ type, parameters }) : unknownType;
  return /^[ -~]+$/.test(text) && text.length <= maxTypeLength ? text : unknownType;
}

/** RFC 2046 §5.1.1. */
const boundaryShape = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

export function readBoundary(headers: Headers): string | Problem {
  const field = headers.get("content-type") ?? "";
  const repeated = repeatedParameter(field);
  if (repeated !== undefined) return repeated;
  const { boundary = "" } = read(field).parameters;
  return boundaryShape.test(boundary) ? boundary : noBoundary;
}

const noBoundary = new Problem(
  "malformed-request",
  "Content-Type needs a boundary of 1 to 70 characters (RFC 2046 §5.1.1); leave it to your client to set it.",
);

function read(field: string): { type: string; parameters: Record<string, string> } {
  try {
    return parse(field);
  } catch {
    return { type: "", parameters: {} };
  }
}

/**
 * What a browser may show by itself: nothing that can run or be laid out. SVG and PDF can, so they
 * are saved.
 */
const safe = /^(?:(?:image|audio|video)\/(?!.*(?:svg|xml))[a-z0-9.+-]+|text\/plain)$/;

export const isSafeToShow = (type: string): boolean =>
  safe.test(type.split(";", 1)[0]?.trim().toLowerCase() ?? "");
