// Recognises numbers, booleans, times and JSON in CSV cells, and writes texts so that spreadsheets run nothing and they stay texts.

/** Spreadsheets treat a cell that starts with one of these as a formula, including the full-width forms. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** The JSON number grammar. */
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A date and a time as spreadsheets and databases write them, with a space between. */
const spacedTime = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(?: ?(Z|[+-]\d\d:\d\d))?$/;

export const isNumber = (text: string): boolean => number.test(text);

/** Returns a boolean as JSON; spreadsheets write it in capitals. */
export function booleanOf(text: string): "true" | "false" | undefined {
  if (text.length > "false".length) return undefined;
  const lower = text.toLowerCase();
  return lower === "true" || lower === "false" ? lower : undefined;
}

/** Returns a date and time with a space between as RFC 3339, in UTC without an offset; otherwise undefined. */
export function timeOf(text: string): string | undefined {
  const [whole, date, time, seconds = ":00", offset = "Z"] = spacedTime.exec(text) ?? [];
  return whole === undefined ? undefined : `${date}T${time}${seconds}${offset}`;
}

/** Whether an unquoted cell with this text can be read as something else than the text. */
const isAmbiguous = (text: string): boolean =>
  text === "" ||
  text === "null" ||
  booleanOf(text) !== undefined ||
  number.test(text) ||
  spacedTime.test(text);

/** Whether the text is a JSON array or object, as a cell shows one. */
export function isJsonContainer(text: string): boolean {
  const [first] = text;
  if (first !== "[" && first !== "{") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text needs an apostrophe in front: a formula, JSON, or such a text with apostrophes. */
function needsApostrophe(text: string): boolean {
  const [first = ""] = text;
  if (first !== "'") return formula.test(text) || isJsonContainer(text);
  let start = 1;
  while (text[start] === "'") start++;
  return needsApostrophe(text.slice(start));
}

/** Returns the cell of a text. */
export function textCell(text: string): string {
  const safe = needsApostrophe(text) ? `'${text}` : text;
  return isAmbiguous(safe) || /[",\r\n]|^\s|\s$/.test(safe) ? quoted(safe) : safe;
}

export const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** Returns the text of a cell without the apostrophe that `textCell` adds. */
export const textOfCell = (cell: string): string =>
  cell.startsWith("'") && needsApostrophe(cell) ? cell.slice(1) : cell;
