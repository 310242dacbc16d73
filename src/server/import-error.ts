// What is wrong with a module that could not be loaded: file, line, column and message.

import { fileURLToPath } from "node:url";
import { messageOf } from "../lib/cli-error.ts";

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column?: number | undefined;
  readonly detail: string;
}

const most = 5;

/** One line for each error, at most five. `search` is asked when a syntax error names no line. */
export function describeImportError(
  thrown: unknown,
  folder: string,
  search: () => Place | undefined,
): string {
  const parts: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
  const places = parts.slice(0, most).map((each) => placeIn(each, folder));
  const isNameless = thrown instanceof SyntaxError && places[0] === undefined;
  const found = isNameless ? [search()] : places;
  return found
    .map((place, index) => (place === undefined ? messageOf(parts[index]) : format(place)))
    .join("\n  ");
}

const format = ({ file, line, column, detail }: Place): string =>
  `${file}:${line}${column === undefined ? "" : `:${column}`}: ${detail}`;

/** Bun has it in `position`, Node in the first line of the stack, an exception in its first frame. */
function placeIn(thrown: unknown, folder: string): Place | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  const detail = "message" in thrown ? String(thrown.message) : String(thrown);
  if ("position" in thrown && isPosition(thrown.position)) return { ...thrown.position, detail };
  const stack = "stack" in thrown ? String(thrown.stack) : "";
  const [, head, headLine] = /^(.+):(\d+)$/.exec(stack.slice(0, stack.indexOf("\n"))) ?? [];
  if (head !== undefined) return { file: pathOf(head), line: Number(headLine), detail };
  for (const frame of stack.split("\n").filter((each) => each.includes(folder))) {
    const [file = "", line, column] = frame
      .slice(frame.indexOf(folder))
      .replace(")", "")
      .split(":");
    if (column !== undefined) return { file, line: Number(line), column: Number(column), detail };
  }
  return undefined;
}

const isPosition = (value: unknown): value is Omit<Place, "detail"> =>
  typeof value === "object" && value !== null && "file" in value && "line" in value;

const pathOf = (place: string): string =>
  place.startsWith("file:") ? fileURLToPath(place) : place;
