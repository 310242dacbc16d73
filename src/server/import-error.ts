// Describes why a module could not be loaded: file, line, column and message.

import { fileURLToPath } from "node:url";
import { messageOf } from "../lib/cli-error.ts";

interface Location {
  readonly file: string;
  readonly line: number;
  readonly column?: number | undefined;
  readonly detail: string;
}

const maxErrors = 5;

/** Returns a line for each error, at most five. Calls `search` when a syntax error has no line. */
export function describeImportError(
  thrown: unknown,
  folder: string,
  search: () => Location | undefined,
): string {
  const parts: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
  const locations = parts.slice(0, maxErrors).map((each) => locationOf(each, folder));
  const hasNoLocation = thrown instanceof SyntaxError && locations[0] === undefined;
  const found = hasNoLocation ? [search()] : locations;
  return found
    .map((location, index) => (location === undefined ? messageOf(parts[index]) : format(location)))
    .join("\n  ");
}

const format = ({ file, line, column, detail }: Location): string =>
  `${file.split("?again=")[0]}:${line}${column === undefined ? "" : `:${column}`}: ${detail}`;

/** Bun has the location in `position`, Node in the first line of the stack, an exception in a frame. */
function locationOf(thrown: unknown, folder: string): Location | undefined {
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

const isPosition = (value: unknown): value is Omit<Location, "detail"> =>
  typeof value === "object" && value !== null && "file" in value && "line" in value;

const pathOf = (path: string): string => (path.startsWith("file:") ? fileURLToPath(path) : path);
