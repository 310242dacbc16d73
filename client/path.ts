// The path of a resource or of a file.

import { Problem } from "./problem.ts";

/** A URL drops these, so that the path would be that of something else; half a character cannot be in one. */
const isLost = (text: string): boolean => /^\.{0,2}$/.test(text) || !text.isWellFormed();

/** Throws a `Problem` of the kind `not-found` for what the server cannot have. */
export function segmentOf(text: string): string {
  if (!isLost(text)) return encodeURIComponent(text);
  throw new Problem(404, { type: "not-found", detail: `${JSON.stringify(text)} is not a name.` });
}
