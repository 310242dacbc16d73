// Reads a list request or a feed request from the query string of a URL.

import { positionGone } from "../../domain/problems.ts";
import { type FeedPosition, readFeedPosition } from "../../model/feed-position.ts";
import type { ParameterError, Problem } from "../../model/problem.ts";
import type { ListRequest, Located, NamedField } from "../../model/query/list-request.ts";
import { type ListParameter, listParameters } from "../../model/query/near-miss.ts";
import { invalid, type SearchParams } from "../request/search-params.ts";
import { ListRequestReader, pageWithCursor } from "./list-request-reader.ts";

/** A request for the changes after a position; 0 is before all changes. */
export interface FeedQuery {
  readonly since: FeedPosition | 0;
  readonly limit: number;
  /** The fields to show; empty for all. */
  readonly fields: readonly NamedField[];
}

/** Reserved parameter names; a field with such a name is filtered with an operator. */
export const reservedParameters = listParameters;
type Reserved = ListParameter;

const isReserved = (name: string): name is Reserved =>
  (reservedParameters as readonly string[]).includes(name);

/** Reads a request for a page, a cursor or changes. Values out of range are rejected, never clamped. */
export function readListQuery(searchParams: SearchParams): ListRequest | FeedQuery | Problem {
  if (searchParams.length === 0) return defaultRequest;
  const reader = new ListRequestReader(true);
  const values = new Map<Reserved, string>();
  const others: string[] = [];
  const seen = new Set<string>();
  for (const [name, value] of searchParams) {
    const isFilter = !isReserved(name);
    const [, field = name, operator = "eq"] = isFilter ? (bracketed.exec(name) ?? []) : [];
    const full = isFilter ? `${field}[${operator}]` : name;
    if (seen.has(full)) {
      reader.addError({ parameter: name }, "The parameter is repeated; send it once.");
    } else if (isFilter) {
      others.push(name);
      reader.filter(field, operator, value, { parameter: name });
    } else {
      values.set(name, value);
    }
    seen.add(full);
  }
  readReserved(reader, values);
  const since = values.get("since");
  return since === undefined
    ? reader.listRequest()
    : readFeedQuery(reader.listRequest(), values, others, since);
}

/** A field with an operator in brackets. */
const bracketed = /^([^[\]]*)\[([^[\]]*)\]$/;

const defaultRequest = new ListRequestReader(true).listRequest();

function readReserved(reader: ListRequestReader, values: ReadonlyMap<Reserved, string>): void {
  const whenSent = (
    parameter: Reserved,
    read: (text: string, place: { parameter: string }) => void,
  ) => {
    const text = values.get(parameter);
    if (text !== undefined) read(text, { parameter });
  };
  whenSent("page", (text, place) => reader.page(wholeIn(text), place));
  whenSent("limit", (text, place) => reader.limit(wholeIn(text), place));
  whenSent("sort", (text, place) => reader.sort(listIn(text, place)));
  whenSent("fields", (text, place) => reader.fields(listIn(text, place)));
  whenSent("q", (text, place) => reader.search(text, place));
  whenSent("cursor", (text, place) => reader.cursor(text, place));
  whenSent("total", (text, place) => reader.total(text, place));
  if (values.has("page") && values.has("cursor"))
    reader.addError({ parameter: "page" }, pageWithCursor);
}

const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;
const wholeIn = (text: string): number => (wholeNumber.test(text) ? Number(text) : Number.NaN);

const listIn = (text: string, place: Located["place"]): readonly Located[] =>
  text.split(",").map((piece) => ({ text: piece, place }));

const feedNames: readonly string[] = ["since", "limit", "fields"];

/** Positions of version 0.1 were bare revisions, which do not identify the collection's epoch. */
const bareNumber = /^\d+$/;

function readFeedQuery(
  { limit, fields, errors: requestErrors }: ListRequest,
  values: ReadonlyMap<Reserved, string>,
  others: readonly string[],
  since: string,
): FeedQuery | Problem {
  const errors = [...(requestErrors as readonly ParameterError[])];
  const named = new Set(errors.map(({ parameter }) => parameter));
  const addError = (parameter: string, detail: string) => {
    if (!named.has(parameter)) errors.push({ parameter, detail });
    named.add(parameter);
  };
  const position = since === "0" ? 0 : readFeedPosition(since);
  if (position === undefined && !bareNumber.test(since)) {
    addError("since", "since is 0, or the unchanged `next` of an earlier response.");
  }
  const otherReserved = [...values.keys()].filter((name) => !feedNames.includes(name));
  for (const name of [...otherReserved, ...others]) {
    addError(name, "this cannot be combined with since; leave it out.");
  }
  if (errors.length > 0) return invalid(errors);
  return position === undefined ? positionGone : { since: position, limit, fields };
}
