// A question judged by a collection's definition: the query it makes, or every fault of it.

import type { Collection } from "../model/collection.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import { queryHash, readCursor } from "../model/query/cursor.ts";
import { conditionOf } from "../model/query/filter.ts";
import { normalizeWords, ownerField } from "../model/query/index-plan.ts";
import {
  type ErrorLocation,
  type Filter,
  isAlwaysShown,
  type ListRequest,
  type Located,
  listOffset,
  listRequestLimits,
  type NamedField,
} from "../model/query/list-request.ts";
import { suggestParameter } from "../model/query/near-miss.ts";
import { pageLimits } from "../model/query/page.ts";
import {
  type Condition,
  isRanked,
  type Query,
  type Sorting,
  type Word,
} from "../model/query/query.ts";
import { type QueryableFields, queryableFieldsOf } from "../model/query/queryable.ts";
import { equalTo, keyOf } from "../model/query/sort-key.ts";
import { maxCandidateBytes, maxCandidates } from "../store/store.ts";

/** The query, or every fault of the question at once. With an owner, only what is theirs is there. */
export function buildQuery(
  collection: Collection,
  question: ListRequest,
  owner: string | undefined,
): Query | Problem {
  const inquiry = new QueryBuilder(queryableFieldsOf(collection.definition), question);
  const query = inquiry.query(owner);
  const start = inquiry.start(collection, query);
  return inquiry.faults.length > 0 ? refuse(question, inquiry.faults) : { ...query, start };
}

/** Why these fields cannot be shown: the definition does not know them, or hides them. */
export function refuseFields(
  definition: string,
  fields: readonly NamedField[],
): Problem | undefined {
  const queryable = queryableFieldsOf(definition);
  const unknown = fields.filter(
    ({ field }) => !isAlwaysShown(field) && queryable.find(field) === undefined,
  );
  if (unknown.length === 0) return undefined;
  const errors = unknown.map(({ field, place }) => ({
    ...place,
    detail: noField(queryable, field),
  }));
  return new Problem(
    "invalid-parameter",
    "The query string is not valid; `errors` names each fault.",
    {
      errors,
    },
  );
}

const noField = (queryable: QueryableFields, field: string): string =>
  `there is no field "${field}" here; there are: ${queryable.names()}`;

/** What must stay the same for a walk to go on. */
export const markOfQuery = (
  { name, createdAt }: Collection,
  { conditions, words, sortings, isNewestFirst }: Query,
): string => queryHash([name, createdAt, conditions, words, sortings, isNewestFirst]);

class QueryBuilder {
  readonly faults: (FieldError | ParameterError)[];
  readonly #queryable: QueryableFields;
  readonly #question: ListRequest;

  constructor(queryable: QueryableFields, question: ListRequest) {
    this.#queryable = queryable;
    this.#question = question;
    this.faults = [...question.errors];
  }

  query(owner: string | undefined): Query {
    const { filters, search, fields, limit, isCounted } = this.#question;
    const conditions = filters.flatMap((filter) => this.#condition(filter));
    const words = search === undefined ? [] : this.#words(search);
    const sortings = this.#sortings();
    for (const named of fields) if (!isAlwaysShown(named.field)) this.#find(named);
    const last = sortings.at(-1);
    const isByCreation = last?.field === "createdAt";
    // The order of creation decides at the end anyhow; but alone it must keep words from being ranked.
    const isDropped = isByCreation && (sortings.length > 1 || words.length === 0);
    return {
      conditions: owner === undefined ? conditions : [ownedBy(owner), ...conditions],
      words,
      sortings: isDropped ? sortings.slice(0, -1) : sortings,
      isNewestFirst: isByCreation && last.isDescending,
      start: 0,
      limit,
      isCounted,
    };
  }

  #condition(filter: Filter): readonly Condition[] {
    const meant = this.#meantBy(filter);
    if (meant !== undefined) return this.#fault(filter.place, meant);
    const shape = this.#find(filter);
    if (shape === undefined) return [];
    if (shape.holds === "object") return this.#fault(filter.place, anObject(filter.field));
    const condition = conditionOf(filter, shape.kind, this.#question.isFromUrl);
    return typeof condition === "string" ? this.#fault(filter.place, condition) : [condition];
  }

  /** What to send instead of a parameter that is nearly one of ours; undefined when it is a field. */
  #meantBy({ field, operand, place }: Filter): string | undefined {
    const isBare = "parameter" in place && place.parameter === field;
    if (!isBare || this.#queryable.declares(field)) return undefined;
    const meant = suggestParameter(field, operand);
    return (
      meant &&
      `there is no parameter "${field}"; use ${meant}. For a field of this name, write ${field}[eq]`
    );
  }

  #sortings(): readonly Sorting[] {
    return this.#question.sort.flatMap((sorted): readonly Sorting[] => {
      const { field, isDescending, place } = sorted;
      const shape = this.#find(sorted);
      if (shape === undefined) return [];
      if (shape.holds === "object") return this.#fault(place, anObject(field));
      if (shape.holds === "array")
        return this.#fault(place, `${field} is a list, and has no order`);
      return [{ field, kind: shape.kind, isDescending }];
    });
  }

  #words({ text, place }: Located): readonly Word[] {
    if (!this.#queryable.isSearchable) {
      const advice = 'declare fields under "searchable" in its definition';
      return this.#fault(place, `nothing in this collection can be searched; ${advice}`);
    }
    const words = searchedIn(text);
    const { maxWords } = listRequestLimits;
    return words.length > 0 && words.length <= maxWords
      ? words
      : this.#fault(place, `1 to ${maxWords} words of letters or digits are needed`);
  }

  /** Where the answer begins. */
  start(collection: Collection, query: Query): Query["start"] {
    const { cursor } = this.#question;
    if (cursor === undefined) return listOffset(this.#question);
    const { text, place } = cursor;
    if (isRanked(query)) this.#fault(place, "the best first has no cursor; sort, or use pages");
    // With other faults the question is not known.
    if (text === "" || this.faults.length > 0) return 0;
    const mark = markOfQuery(collection, query);
    const position = readCursor(text, mark, query.sortings.length);
    if (typeof position === "object") return position;
    this.#fault(place, cursorFaults[position]);
    return 0;
  }

  #find({ field, place }: NamedField) {
    const shape = this.#queryable.find(field);
    if (shape === undefined) {
      this.#fault(place, noField(this.#queryable, field));
    }
    return shape;
  }

  #fault(place: ErrorLocation, detail: string): readonly never[] {
    this.faults.push({ ...place, detail });
    return [];
  }
}

const cursorFaults = {
  malformed:
    "this is no cursor; send the `next` of an earlier answer as it was, or nothing to begin",
  foreign:
    "this cursor belongs to another question; send it with the same filters, words and sort, or begin anew",
} as const;

const anObject = (field: string): string =>
  `${field} is an object; name a field in it, with a dot between: ${field}.…`;

const ownedBy = (owner: string): Condition => ({
  field: ownerField,
  kind: "text",
  spans: [equalTo(keyOf("text", owner))],
});

/** Each once; what stands before a `*` is the beginning of a word. */
function searchedIn(text: string): readonly Word[] {
  const words = text.split(/\s+/).flatMap((piece) => {
    const parts = normalizeWords(piece)
      .split(" ")
      .filter((part) => part !== "");
    const isOpen = piece.endsWith("*");
    return parts.map((part, index) => ({
      text: part,
      isPrefix: isOpen && index === parts.length - 1,
    }));
  });
  const spelled = (word: Word) => `${word.text}${word.isPrefix ? "*" : ""}`;
  return [...new Map(words.map((word) => [spelled(word), word])).values()];
}

const candidates = maxCandidates.toLocaleString("en");
const tooBroad = `More than ${candidates} resources, or more than ${maxCandidateBytes / 1024 / 1024} MiB of them, would have to be looked at one by one; \`errors\` says what helps.`;

/** The store would have to look at too many resources: what to declare, or else to ask for less. */
export function refuseBroad({ definition }: Collection, question: ListRequest): Problem {
  const queryable = queryableFieldsOf(definition);
  const { filters, sort, search } = question;
  const advised = [
    ...filters.map((filter) => adviceFor(queryable, filter, false)),
    ...sort.map((sorted) => adviceFor(queryable, sorted, true)),
  ].flat();
  if (advised.length > 0) return refuse(question, advised, tooBroad);
  const [place] = [...filters, ...sort, ...(search ? [search] : [])].map((said) => said.place);
  const detail = `more than ${candidates} fit what one index can tell; ask for less`;
  return refuse(question, place === undefined ? [] : [{ ...place, detail }], tooBroad);
}

/** The page would have too many bytes; so many of its first resources are within the limit. */
export function refuseLarge(question: ListRequest, count: number): Problem {
  const place = question.isFromUrl ? { parameter: "limit" } : { pointer: "/limit" };
  const size = `${pageLimits.maxBytes / 1024 / 1024} MiB`;
  const detail = `use ${count} or less here; or walk with a cursor, whose pages are as long as they may be`;
  return refuse(question, [{ ...place, detail }], `The page would have over ${size}.`);
}

/** What the collection's definition could say so that its indexes help with a field. */
function adviceFor(
  queryable: QueryableFields,
  { field, place }: NamedField,
  isSorted: boolean,
): readonly (FieldError | ParameterError)[] {
  // What is known by its id, or sorted by its creation, needs no index.
  if (field === (isSorted ? "createdAt" : "id")) return [];
  const indexing = `declare "${field}" under "indexed" in the collection's definition`;
  if (!queryable.indexed.has(field)) return [{ ...place, detail: indexing }];
  const typing = `declare the type of "${field}" in the collection's schema, so that its index has one order`;
  const isMixed = isSorted && queryable.find(field)?.kind === "any";
  return isMixed ? [{ ...place, detail: typing }] : [];
}

/** In a URL it is a parameter that is wrong, otherwise the body. */
function refuse(
  { isFromUrl: isSpelled }: ListRequest,
  errors: readonly (FieldError | ParameterError)[],
  detail?: string,
): Problem {
  const kind = isSpelled ? "invalid-parameter" : "invalid-body";
  const where = isSpelled ? "query string" : "body";
  const words = detail ?? `The ${where} is not valid; \`errors\` names each fault.`;
  return new Problem(kind, words, { errors });
}
