// Measures how deep the arrays and objects of a JSON text are nested.

import { code } from "./lexer.ts";

/** Expects a text that is JSON. */
export function isDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === code.quote) isInString = !isInString;
    else if (isInString) at += unit === code.backslash ? 1 : 0;
    else if (unit === code.openBracket || unit === code.openBrace) {
      if (++depth > maxDepth) return true;
    } else if (unit === code.closeBracket || unit === code.closeBrace) depth--;
  }
  return false;
}
