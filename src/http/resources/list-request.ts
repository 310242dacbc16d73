// Reads list requests from a query string, and collects their errors.

import { tooManyConditions } from "../../domain/build-where.ts";
import type { FeedRequest } from "../../domain/feeds.ts";
import { scanObject } from "../../lib/json/scan.ts";
import { readFeedPosition, readSealedPosition } from "../../model/feed-position.ts";
import { isOfElements } from "../../model/field-kind.ts";
import type { FieldError, ParameterError, Problem } from "../../model/problem.ts";
import { splitList } from "../../model/query/aggregate.ts";
import {
  type AggregateRequest,
  type ErrorLocation,
  errorAt,
  type Filter,
  fieldSyntax,
  isFieldPath,
  type ListRequest,
  type Located,
  listRequestLimits,
  type NamedField,
  pageLimits,
  type Sorted,
  type Where,
} from "../../model/query/list-request.ts";
import { unknownOperator } from "../../model/query/misspelled-field.ts";
import {
  type ListParameter,
  listParameters,
  suggestParameter,
} from "../../model/query/near-miss.ts";
import { isOperator } from "../../model/query/operators.ts";
import { invalid, type SearchParams } from "../request/request-target.ts";

/** Collects the members of a list request and every error. */
export class ListRequestReader {
  readonly #isFromUrl: boolean;
  readonly #errors: (FieldError | ParameterError)[] = [];
  readonly #filters: Filter[] = [];
  #where: Where | undefined;
  #sort: readonly Sorted[] = [];
  #fields: readonly NamedField[] = [];
  #expand: readonly NamedField[] = [];
  #search: Located | undefined;
  #cursor: Located | undefined;
  #page = 1;
  #limit: number = pageLimits.defaultLimit;
  #isCounted = true;
  #aggregates: readonly Located[] | undefined;
  #by: readonly Located[] = [];
  #timeZone: Located | undefined;

  constructor(isFromUrl: boolean) {
    this.#isFromUrl = isFromUrl;
  }

  addError(place: ErrorLocation, detail: string): void {
    this.#errors.push(errorAt(place, detail));
  }

  filter(field: string, operator: string, operand: string, place: { parameter: string }): void {
    if (!isFieldPath(field)) this.addError(place, fieldSyntax);
    else if (!isOperator(operator)) this.addError(place, explainOperator(operator, place));
    else if (this.#filters.length === listRequestLimits.maxConditions) {
      this.addError(place, tooManyConditions);
    } else this.#filters.push({ field, operator, operand, place });
  }

  where(value: unknown, locate: Where["locate"]): void {
    this.#where = { value, locate };
  }

  page(page: number, place: ErrorLocation): void {
    this.#page = page;
    if (!isWhole(page, 1)) this.addError(place, "page is a whole number from 1.");
  }

  limit(limit: number, place: ErrorLocation): void {
    const { maxLimit } = pageLimits;
    this.#limit = limit;
    if (!isWhole(limit, 1, maxLimit)) {
      this.addError(place, `limit is a whole number from 1 to ${maxLimit}.`);
    }
  }

  sort(names: readonly Located[]): void {
    this.#sort = this.#readFields(names, listRequestLimits.maxSortings, "sort").map(
      ({ field, place }) =>
        field.startsWith("-")
          ? { field: field.slice(1), isDescending: true, place }
          : { field, isDescending: false, place },
    );
    this.#rejectDuplicates(this.#sort, "sort");
  }

  fields(names: readonly Located[]): void {
    this.#fields = this.#readFields(names, listRequestLimits.maxFields, "fields");
    this.#rejectDuplicates(this.#fields, "fields");
  }

  /** The paths are checked against the definitions of the collections that they lead through. */
  expand(names: readonly Located[]): void {
    const [first] = names;
    const { maxExpanded } = listRequestLimits;
    if (first !== undefined && names.length > maxExpanded) {
      this.addError(first.place, `expand takes up to ${maxExpanded} references`);
    } else {
      this.#expand = names.map(({ text, place }) => ({ field: text, place }));
      this.#rejectDuplicates(this.#expand, "expand");
    }
  }

  #readFields(names: readonly Located[], most: number, member: string): readonly NamedField[] {
    const [first] = names;
    if (first !== undefined && names.length > most) {
      this.addError(first.place, `${member} takes up to ${most} fields`);
      return [];
    }
    const isRight = ({ text }: Located) =>
      isFieldPath(text.replace(/^-/, "")) && !signed.test(text) && !isOfElements(text);
    for (const { text, place } of names.filter((each) => !isRight(each))) {
      const expected = isOfElements(text)
        ? "none for the elements of an array ([])"
        : "field names separated by commas";
      this.addError(place, `${member} takes ${expected}; ${fieldSyntax}`);
    }
    return names.filter(isRight).map(({ text, place }) => ({ field: text, place }));
  }

  #rejectDuplicates(readFields: readonly NamedField[], member: string): void {
    const seen = new Set<string>();
    for (const { field, place } of readFields) {
      if (seen.has(field)) this.addError(place, `"${field}" is in ${member} twice; name it once`);
      seen.add(field);
    }
  }

  search(text: string, place: ErrorLocation): void {
    this.#search = { text, place };
  }

  cursor(text: string, place: ErrorLocation): void {
    this.#cursor = { text, place };
  }

  total(word: unknown, place: ErrorLocation): void {
    this.#isCounted = word !== "none";
    if (word !== "none" && word !== "exact") this.addError(place, "total is one of: exact, none.");
  }

  aggregate(names: readonly Located[]): void {
    this.#aggregates = names;
  }

  by(names: readonly Located[]): void {
    this.#by = names;
  }

  timeZone(text: string, place: ErrorLocation): void {
    this.#timeZone = { text, place };
  }

  #aggregateRequest(): AggregateRequest | undefined {
    const [by, timeZone] = [this.#by, this.#timeZone];
    if (this.#aggregates !== undefined) return { aggregates: this.#aggregates, by, timeZone };
    const [first] = by;
    if (first !== undefined) this.addError(first.place, needsAggregate("by"));
    if (timeZone !== undefined) this.addError(timeZone.place, needsAggregate("timezone"));
    return undefined;
  }

  listRequest(): ListRequest {
    const aggregate = this.#aggregateRequest();
    return {
      aggregate,
      filters: this.#filters,
      where: this.#where,
      search: this.#search,
      sort: this.#sort,
      fields: this.#fields,
      expand: this.#expand,
      page: this.#page,
      limit: this.#limit,
      cursor: this.#cursor,
      isCounted: this.#isCounted,
      isFromUrl: this.#isFromUrl,
      errors: this.#errors,
    };
  }
}

const needsAggregate = (name: string): string =>
  `${name} needs aggregate; to filter by a field of this name, write ${name}[eq]=…`;

export const isWhole = (number: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isInteger(number) && number >= least && number <= most;

/** A plus sign for ascending order is not accepted; in a URL it arrives as a space. */
const signed = /^[+\s]/;

function explainOperator(operator: string, { parameter }: { parameter: string }): string {
  const suggestion = suggestParameter(parameter);
  return suggestion === undefined
    ? unknownOperator(operator)
    : `there is no parameter "${parameter}"; use ${suggestion}`;
}

export const pageWithCursor = "page cannot be combined with cursor; leave it out";

/** Reserved parameter names; a field with such a name is filtered with an operator. */
export const reservedParameters = listParameters;

const isReserved = (name: string): name is ListParameter =>
  (reservedParameters as readonly string[]).includes(name);

/** Reads a request for a page, a cursor or changes. Values out of range are rejected, never clamped. */
export function readListQuery(searchParams: SearchParams): ListRequest | FeedRequest | Problem {
  if (searchParams.length === 0) return defaultRequest;
  const reader = new ListRequestReader(true);
  const values = new Map<ListParameter, string>();
  const seen = new Set<string>();
  for (const [name, value] of searchParams) {
    const isFilter = !isReserved(name);
    const [, field = name, operator = "eq"] = isFilter ? (bracketed.exec(name) ?? []) : [];
    const full = isFilter ? `${field}[${operator}]` : name;
    if (seen.has(full)) {
      reader.addError({ parameter: name }, "The parameter is repeated; send it once.");
    } else if (isFilter) {
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
    : readFeedRequest(reader.listRequest(), values, since);
}

/** A field with an operator in brackets. Empty brackets belong to the field. */
const bracketed = /^(.*)\[([^[\]]+)\]$/s;

export const defaultRequest = new ListRequestReader(true).listRequest();

function readReserved(reader: ListRequestReader, values: ReadonlyMap<ListParameter, string>): void {
  const whenSent = (
    parameter: ListParameter,
    read: (text: string, place: { parameter: string }) => void,
  ) => {
    const text = values.get(parameter);
    if (text !== undefined) read(text, { parameter });
  };
  whenSent("page", (text, place) => reader.page(wholeIn(text), place));
  whenSent("limit", (text, place) => reader.limit(wholeIn(text), place));
  whenSent("sort", (text, place) => reader.sort(listIn(text, place)));
  whenSent("fields", (text, place) => reader.fields(listIn(text, place)));
  whenSent("expand", (text, place) => reader.expand(listIn(text, place)));
  whenSent("q", (text, place) => reader.search(text, place));
  whenSent("cursor", (text, place) => reader.cursor(text, place));
  whenSent("total", (text, place) => reader.total(text, place));
  whenSent("where", (text) => readWhere(reader, text));
  whenSent("aggregate", (text, place) => reader.aggregate(listIn(text, place)));
  whenSent("by", (text, place) => reader.by(listIn(text, place)));
  whenSent("timezone", (text, place) => reader.timeZone(text, place));
  if (values.has("page") && values.has("cursor"))
    reader.addError({ parameter: "page" }, pageWithCursor);
}

function readWhere(reader: ListRequestReader, text: string): void {
  const locate = (path: string) => ({ parameter: "where", path });
  const scanned = scanObject(text);
  if ("text" in scanned) reader.where(JSON.parse(text), locate);
  else
    for (const { pointer, detail } of scanned) {
      const advice = `${detail}; where takes JSON, such as {"age":{"gte":18}}, percent-encoded. For a field of this name, write where[eq]`;
      reader.addError(locate(pointer), advice);
    }
}

const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;
const wholeIn = (text: string): number => (wholeNumber.test(text) ? Number(text) : Number.NaN);

const listIn = (text: string, place: Located["place"]): readonly Located[] =>
  splitList(text).map((piece) => ({ text: piece, place }));

const feedNames: readonly string[] = ["since", "limit", "fields", "where"];

/** Reads a request for changes: a list request with `since`. */
function readFeedRequest(
  listRequest: ListRequest,
  values: ReadonlyMap<ListParameter, string>,
  since: string,
): FeedRequest | Problem {
  const errors = [...(listRequest.errors as readonly ParameterError[])];
  const named = new Set(errors.map(({ parameter }) => parameter));
  const addError = (parameter: string, detail: string) => {
    if (!named.has(parameter)) errors.push({ parameter, detail });
    named.add(parameter);
  };
  const position = since === "0" ? 0 : (readFeedPosition(since) ?? readSealedPosition(since));
  if (position === undefined) {
    addError("since", "since is 0, or the unchanged `next` of an earlier response.");
  }
  const otherReserved = [...values.keys()].filter((name) => !feedNames.includes(name));
  for (const name of otherReserved) {
    addError(name, "this cannot be combined with since; leave it out.");
  }
  return position === undefined || errors.length > 0
    ? invalid(errors)
    : { since: position, listRequest };
}
