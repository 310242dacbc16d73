// Reads numbers as people write them.

import { inexactHint, isExact } from "../api/exact.ts";

/** A text that is no number stays a text, so that the server says what is wrong with it. */
export function parseNumber(text: string): number | string | undefined {
  const plain = plainNumber(text.trim());
  if (plain === "") return undefined;
  return isNumber(plain) && isKept(plain) ? Number(plain) : text;
}

const isNumber = (plain: string): boolean =>
  /^[-+.\deE]+$/.test(plain) && Number.isFinite(Number(plain));

/** Also what people write and JSON does not have: `+5`, `.5`, `5.` and `007`. */
const isKept = (plain: string): boolean =>
  isExact(
    plain
      .replace(/^\+/, "")
      .replace(/^(-?)\./, "$10.")
      .replace(/\.(?!\d)/, ""),
  );

/** Reads `12,50`, `1 200` and `1.200,50`, too. `1,200` may be either, and stays as it is. */
function plainNumber(text: string): string {
  const joined = text.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, "");
  if (/^[-+]?\d{1,3}((,\d{3}){2,}(\.\d*)?|,\d{3}\.\d*)$/.test(joined))
    return joined.replaceAll(",", "");
  if (/^[-+]?\d{1,3}((\.\d{3}){2,}(,\d*)?|\.\d{3},\d*)$/.test(joined))
    return joined.replaceAll(".", "").replace(",", ".");
  const isDecimal = /^[-+]?\d+,\d*$/.test(joined) && !/^[-+]?[1-9]\d{0,2},\d{3}$/.test(joined);
  return isDecimal ? joined.replace(",", ".") : joined;
}

/** What to write instead of a text that is no number. */
export function numberHint(text: string): string {
  const plain = text.trim();
  if (isNumber(plainNumber(plain))) return inexactHint;
  return /^[-+]?\d+,\d{3}$/.test(plain)
    ? `Write ${plain.replace(",", "")} or ${Number(plain.replace(",", "."))}.`
    : "Write a number, such as 12.50.";
}
