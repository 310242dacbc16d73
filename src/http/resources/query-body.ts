// Reads a list request from the JSON body of a QUERY.

import { type Path, pointerTo } from "../../lib/json/error-report.ts";
import { own } from "../../lib/own-property.ts";
import type { Problem } from "../../model/problem.ts";
import type { ListRequest, Located } from "../../model/query/list-request.ts";
import { suggestParameter } from "../../model/query/near-miss.ts";
import { invalidBody } from "../body/content.ts";
import { ListRequestReader, pageWithCursor } from "./list-request-reader.ts";

type Members = Readonly<Record<string, unknown>>;

/** `text` is already checked to be strict JSON. */
export function readQueryBody(text: string): ListRequest | Problem {
  const body: unknown = JSON.parse(text);
  if (!isMembers(body)) {
    return invalidBody([{ pointer: "", detail: "a JSON object is needed" }]);
  }
  const reader = new ListRequestReader(false);
  for (const [name, value] of Object.entries(body)) {
    const read = own(readers, name);
    if (read === undefined) {
      const known = Object.keys(readers).join(", ");
      const suggestion = suggestParameter(name);
      const advice = suggestion === undefined ? `the members are: ${known}` : `use ${suggestion}`;
      reader.addError(at(name), `there is no such member; ${advice}`);
    } else read(reader, value, name);
  }
  if ("page" in body && "cursor" in body) reader.addError(at("page"), pageWithCursor);
  return reader.listRequest();
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const at = (...path: Path) => ({ pointer: pointerTo(path) });

type Read = (reader: ListRequestReader, value: unknown, name: string) => void;

const readers: Readonly<Record<string, Read>> = {
  where: readWhere,
  q: (reader, value, name) => readText(reader, value, name, reader.search),
  sort: (reader, value, name) => reader.sort(readNames(reader, value, name)),
  fields: (reader, value, name) => reader.fields(readNames(reader, value, name)),
  page: (reader, value, name) => reader.page(numberIn(value), at(name)),
  limit: (reader, value, name) => reader.limit(numberIn(value), at(name)),
  cursor: (reader, value, name) => readText(reader, value, name, reader.cursor),
  total: (reader, value, name) => reader.total(value, at(name)),
};

function readWhere(reader: ListRequestReader, where: unknown, name: string): void {
  if (!isMembers(where))
    reader.addError(at(name), "where must be an object with a member for each field");
  for (const [field, test] of Object.entries(isMembers(where) ? where : {})) {
    if (!isMembers(test)) reader.filter(field, "eq", test, at(name, field));
    else if (Object.keys(test).length === 0) {
      reader.addError(at(name, field), "an operator is needed, such as eq");
    }
    for (const [operator, operand] of Object.entries(isMembers(test) ? test : {})) {
      reader.filter(field, operator, operand, at(name, field, operator));
    }
  }
}

function readText(
  reader: ListRequestReader,
  value: unknown,
  name: string,
  set: ListRequestReader["search"],
): void {
  if (typeof value === "string") set.call(reader, value, at(name));
  else reader.addError(at(name), "a string is needed");
}

/** Reads a string with commas, or an array of strings. */
function readNames(reader: ListRequestReader, value: unknown, name: string): readonly Located[] {
  if (typeof value === "string") {
    return value.split(",").map((text) => ({ text, place: at(name) }));
  }
  if (!Array.isArray(value) || value.length === 0) {
    reader.addError(at(name), "a string or an array of strings is needed");
    return [];
  }
  return value.flatMap((text: unknown, index) => {
    if (typeof text === "string") return [{ text, place: at(name, index) }];
    reader.addError(at(name, index), "a string is needed");
    return [];
  });
}

const numberIn = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);
