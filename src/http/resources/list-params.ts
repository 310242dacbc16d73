// What a URL asks of a collection: filters, order, words, and where the answer begins.

import { positionGone } from "../../domain/problems.ts";
import { type FeedPosition, readFeedPosition } from "../../model/feed-position.ts";
import type { ParameterError, Problem } from "../../model/problem.ts";
import type { ListRequest, Located, NamedField } from "../../model/query/list-request.ts";
import { type ListParameter, listParameters } from "../../model/query/near-miss.ts";
import { invalid, pairs } from "../search-params.ts";
import { ListRequestReader, pageBesideCursor } from "./list-request-reader.ts";

/** A copy that is kept in step asks for what changed after a position; 0 is before everything. */
export interface FeedQuery {
  readonly since: FeedPosition | 0;
  readonly limit: number;
  /** What is shown of each resource; empty for all of it. */
  readonly fields: readonly NamedField[];
}

/** Their names are ours: a field of such a name is asked for with an operator. */
export const reserved = listParameters;
type Reserved = ListParameter;

const isReserved = (name: string): name is Reserved =>
  (reserved as readonly string[]).includes(name);

/** A page, a walk, or the changes. Out of range is refused, never clamped. */
export function readListQuery(query: string): ListRequest | FeedQuery | Problem {
  if (query === "") return plainQuestion;
  const reader = new ListRequestReader(true);
  const said = new Map<Reserved, string>();
  const others: string[] = [];
  const seen = new Set<string>();
  for (const [name, value] of pairs(query)) {
    const [, field = name, operator = "eq"] = isReserved(name) ? [] : (bracketed.exec(name) ?? []);
    const full = isReserved(name) ? name : `${field}[${operator}]`;
    if (seen.has(full)) {
      reader.fault({ parameter: name }, "The parameter is repeated; send it once.");
    } else if (isReserved(name)) {
      said.set(name, value);
    } else {
      others.push(name);
      reader.filter(field, operator, value, { parameter: name });
    }
    seen.add(full);
  }
  readReserved(reader, said);
  const since = said.get("since");
  return since === undefined
    ? reader.listRequest()
    : readFeedQuery(reader.listRequest(), said, others, since);
}

/** A field, and in brackets an operator. */
const bracketed = /^([^[\]]*)\[([^[\]]*)\]$/;

const plainQuestion = new ListRequestReader(true).listRequest();

function readReserved(reader: ListRequestReader, said: ReadonlyMap<Reserved, string>): void {
  const whenSaid = (
    parameter: Reserved,
    read: (text: string, place: { parameter: string }) => void,
  ) => {
    const text = said.get(parameter);
    if (text !== undefined) read(text, { parameter });
  };
  whenSaid("page", (text, place) => reader.page(wholeIn(text), place));
  whenSaid("limit", (text, place) => reader.limit(wholeIn(text), place));
  whenSaid("sort", (text, place) => reader.sort(listIn(text, place)));
  whenSaid("fields", (text, place) => reader.fields(listIn(text, place)));
  whenSaid("q", (text, place) => reader.search(text, place));
  whenSaid("cursor", (text, place) => reader.cursor(text, place));
  whenSaid("total", (text, place) => reader.total(text, place));
  if (said.has("page") && said.has("cursor")) reader.fault({ parameter: "page" }, pageBesideCursor);
}

const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;
const wholeIn = (text: string): number => (wholeNumber.test(text) ? Number(text) : Number.NaN);

const listIn = (text: string, place: Located["place"]): readonly Located[] =>
  text.split(",").map((piece) => ({ text: piece, place }));

const feedNames: readonly string[] = ["since", "limit", "fields"];

/** Positions of version 0.1 were revisions, which do not tell one history of a collection from another. */
const bareNumber = /^\d+$/;

function readFeedQuery(
  { limit, fields, errors: faults }: ListRequest,
  said: ReadonlyMap<Reserved, string>,
  others: readonly string[],
  since: string,
): FeedQuery | Problem {
  const errors = [...(faults as readonly ParameterError[])];
  const named = new Set(errors.map(({ parameter }) => parameter));
  const fault = (parameter: string, detail: string) => {
    if (!named.has(parameter)) errors.push({ parameter, detail });
    named.add(parameter);
  };
  const position = since === "0" ? 0 : readFeedPosition(since);
  if (position === undefined && !bareNumber.test(since)) {
    fault("since", "since is 0, or the `next` of an earlier answer as it came.");
  }
  const unknownFlags = [...said.keys()].filter((name) => !feedNames.includes(name));
  for (const name of [...unknownFlags, ...others]) {
    fault(name, "since has an order of its own; leave this out.");
  }
  if (errors.length > 0) return invalid(errors);
  return position === undefined ? positionGone : { since: position, limit, fields };
}
