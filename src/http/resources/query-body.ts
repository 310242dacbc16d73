// Reads a list request from the JSON body of a QUERY.

import { ErrorReport, type Path, pointerTo } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import type { Problem } from "../../model/problem.ts";
import { splitList } from "../../model/query/aggregate.ts";
import type { ListRequest, Located } from "../../model/query/list-request.ts";
import { type QueryBody, queryBodySchema } from "../../model/schemas/query.ts";
import { invalidBody } from "../body/content.ts";
import { ListRequestReader, pageWithCursor } from "./list-request.ts";

const at = (...path: Path) => ({ pointer: pointerTo(path) });

/** `text` is already checked to be strict JSON. The request has all errors of the body, except those in `where`. */
export function readQueryBody(text: string): ListRequest | Problem {
  const body: unknown = JSON.parse(text);
  const report = new ErrorReport();
  checkValue(queryBodySchema, body, report);
  if (!isObjectSchema(body)) return invalidBody(report.errors);
  const reader = new ListRequestReader(false);
  for (const { pointer, detail } of report.errors) reader.addError({ pointer }, detail);
  readMembers(reader, withoutInvalid(body, report));
  if ("page" in body && "cursor" in body) reader.addError(at("page"), pageWithCursor);
  return reader.listRequest();
}

/** Returns the valid members, so that their errors against the definition are found as well. */
function withoutInvalid(body: ObjectSchema, { errors }: ErrorReport): QueryBody {
  const isValid = (name: string) => {
    const own = pointerTo([name]);
    return !errors.some(({ pointer }) => pointer === own || pointer.startsWith(`${own}/`));
  };
  const members = Object.keys(queryBodySchema.properties)
    .filter((name) => Object.hasOwn(body, name) && isValid(name))
    .map((name) => [name, body[name]]);
  return Object.fromEntries(members);
}

function readMembers(reader: ListRequestReader, body: QueryBody): void {
  const { where, q, sort, fields, expand, page, limit, cursor, total } = body;
  const { aggregate, by, timezone } = body;
  if (where !== undefined) reader.where(where, (pointer) => ({ pointer: `/where${pointer}` }));
  if (q !== undefined) reader.search(q, at("q"));
  if (sort !== undefined) reader.sort(namesIn(sort, "sort"));
  if (fields !== undefined) reader.fields(namesIn(fields, "fields"));
  if (expand !== undefined) reader.expand(namesIn(expand, "expand"));
  if (page !== undefined) reader.page(page, at("page"));
  if (limit !== undefined) reader.limit(limit, at("limit"));
  if (cursor !== undefined) reader.cursor(cursor, at("cursor"));
  if (total !== undefined) reader.total(total, at("total"));
  if (aggregate !== undefined) reader.aggregate(namesIn(aggregate, "aggregate"));
  if (by !== undefined) reader.by(namesIn(by, "by"));
  if (timezone !== undefined) reader.timeZone(timezone, at("timezone"));
}

/** Reads a text with commas, or an array of texts. */
const namesIn = (value: string | readonly string[], name: string): readonly Located[] =>
  typeof value === "string"
    ? splitList(value).map((text) => ({ text, place: at(name) }))
    : value.map((text, index) => ({ text, place: at(name, index) }));
