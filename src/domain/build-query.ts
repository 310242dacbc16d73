// Builds a query from a list request and the definition of its collection.

import type { Collection } from "../model/collection.ts";
import { isOfElements } from "../model/field-kind.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import { aggregateLimits, type Groups } from "../model/query/aggregate.ts";
import { conditionOf } from "../model/query/filter.ts";
import { normalizeWords } from "../model/query/index-plan.ts";
import {
  type ErrorLocation,
  errorAt,
  type Filter,
  isAlwaysShown,
  type ListRequest,
  type Located,
  listOffset,
  listRequestLimits,
  type NamedField,
  pageLimits,
} from "../model/query/list-request.ts";
import { explainFilterName, explainSortName } from "../model/query/misspelled-field.ts";
import { explainNearMiss } from "../model/query/near-miss.ts";
import type { Predicate } from "../model/query/predicate.ts";
import { isRanked, type Query, type Sorting, type Word } from "../model/query/query.ts";
import { type QueryableFields, queryableFieldsOf } from "../model/query/queryable.ts";
import { simplified } from "../model/query/simplify.ts";
import { buildAggregation } from "./build-aggregation.ts";
import { buildWhere, type Nameable } from "./build-where.ts";
import { adminOnlyErrors } from "./check-fields.ts";
import { explainNoValue, isObjectError } from "./explain-no-value.ts";
import { positionIn } from "./list-cursor.ts";
import {
  asSeen,
  explainNotAlways,
  explainUnknown,
  findField,
  misspelledIn,
  notAlwaysShown,
  type RelatedCollections,
  sortThrough,
} from "./related-fields.ts";
import type { CursorSeal } from "./sealed-cursor.ts";
import type { View } from "./view.ts";

/** Who asks, and what may be found. */
interface QueryCaller {
  /** What the caller is shown. */
  readonly view: View;
  readonly isAdmin: boolean;
  /** Set where cursors must not show positions. */
  readonly seal?: CursorSeal | undefined;
  /** The collections that conditions and the sort order can name; undefined for none. */
  readonly related?: RelatedCollections;
}

/** Returns the query, or a problem with every error. */
export function buildQuery(
  collection: Collection,
  listRequest: ListRequest,
  { view, isAdmin, seal, related }: QueryCaller,
): Query | Problem {
  const queryable = queryableFieldsOf(collection.definition);
  const builder = new QueryBuilder({ queryable, related, view }, listRequest);
  builder.errors.push(...adminOnlyErrors(listRequest.fields, isAdmin));
  const query = builder.query();
  const start = builder.start(collection, query, seal);
  return builder.errors.length > 0
    ? invalidQuery(listRequest, builder.errors)
    : { ...query, start };
}

class QueryBuilder {
  readonly errors: (FieldError | ParameterError)[];
  readonly #named: Nameable;
  readonly #listRequest: ListRequest;

  constructor(named: Nameable, listRequest: ListRequest) {
    this.#named = named;
    this.#listRequest = listRequest;
    this.errors = [...listRequest.errors];
  }

  query(): Query {
    const { filters, search, fields, limit, isCounted } = this.#listRequest;
    const conditions = simplified([
      ...filters.flatMap((filter) => this.#condition(filter)),
      ...this.#where(),
    ]);
    const words = search === undefined ? [] : this.#words(search);
    const { aggregate } = this.#listRequest;
    const aggregation =
      aggregate &&
      buildAggregation(this.#named, aggregate, this.#listRequest, (place, detail) =>
        this.#addError(place, detail),
      );
    const sortings = aggregation ? [] : this.#sortings();
    for (const named of fields) if (!isAlwaysShown(named.field)) this.#find(named);
    const last = sortings.at(-1);
    const isByCreation = last?.field === "createdAt";
    // Creation order is the final order anyway, but on its own it replaces the ranking of a search.
    const isRedundant = isByCreation && (sortings.length > 1 || words.length === 0);
    return {
      conditions: [...this.#named.view.conditions, ...conditions],
      words,
      sortings: isRedundant ? sortings.slice(0, -1) : sortings,
      isNewestFirst: isByCreation && last.isDescending,
      start: 0,
      limit,
      isCounted: isCounted && aggregation === undefined,
      ...(aggregation && { aggregation }),
    };
  }

  #where(): readonly Predicate[] {
    const { filters, where } = this.#listRequest;
    if (where === undefined) return [];
    const addError = (place: ErrorLocation, detail: string) => this.#addError(place, detail);
    return buildWhere(this.#queryable, where, filters.length, addError, this.#named);
  }

  get #queryable(): QueryableFields {
    return this.#named.queryable;
  }

  /** Finds a field that filters and sort orders can name; otherwise says why not. */
  #findAnywhere(field: string, explain = explainUnknown) {
    const { queryable, related, view } = this.#named;
    return findField(queryable, field, related, view, explain);
  }

  #condition(filter: Filter): readonly Predicate[] {
    const intended = this.#suggestParameter(filter);
    if (intended !== undefined) return this.#addError(filter.place, intended);
    const found = this.#findAnywhere(filter.field);
    if (typeof found === "string") return this.#addError(filter.place, found);
    const noValue = explainNoValue(found, filter.field);
    if (noValue !== undefined) return this.#addError(filter.place, noValue);
    const { field, kind } = found;
    const condition = conditionOf({ ...filter, field, kind, isFromUrl: true });
    return typeof condition === "string"
      ? this.#addError(filter.place, condition)
      : [asSeen(found, condition)];
  }

  /** Returns what to send instead of a misspelled parameter or operator; undefined when it names a field. */
  #suggestParameter({ field, operand, place }: Filter): string | undefined {
    const isBare = "parameter" in place && place.parameter === field;
    if (!isBare || this.#queryable.declares(field)) return undefined;
    return explainNearMiss(field, operand) ?? explainFilterName(field);
  }

  #sortings(): readonly Sorting[] {
    return this.#listRequest.sort.flatMap((sorted): readonly Sorting[] => {
      const { field, isDescending, place } = sorted;
      // A field that is not shown in every resource gets the same error as one that is not there.
      const found = this.#findAnywhere(field, explainNotAlways);
      const isDeclared = typeof found === "object" && found.queryable.declares(found.field);
      const misspelled = isDeclared ? undefined : explainSortName(field);
      if (misspelled !== undefined) return this.#addError(place, misspelled);
      if (typeof found === "string") return this.#addError(place, found);
      const hidden = notAlwaysShown(found);
      if (hidden !== undefined) return this.#addError(place, hidden);
      if (found.holds === "object") return this.#addError(place, isObjectError(field));
      if (found.holds === "array" || (found.steps.length > 0 && isOfElements(field)))
        return this.#addError(place, `${field} is an array and cannot be sorted by`);
      const through = sortThrough(found);
      return [{ field, kind: found.kind, isDescending, ...(through && { through }) }];
    });
  }

  #words({ text, place }: Located): readonly Word[] {
    const { searchable } = this.#queryable;
    const isShown = searchable.every((field) => this.#named.view.showsAlways(field));
    if (searchable.length === 0 || !isShown) {
      const advice = 'list fields under "searchable" in its definition';
      return this.#addError(place, `this collection has no searchable fields; ${advice}`);
    }
    const words = searchedIn(text);
    const { maxWords } = listRequestLimits;
    return words.length > 0 && words.length <= maxWords
      ? words
      : this.#addError(place, `send 1 to ${maxWords} words of letters or digits`);
  }

  /** Returns where the result begins. */
  start(collection: Collection, query: Query, seal: CursorSeal | undefined): Query["start"] {
    if (query.aggregation !== undefined) return 0;
    const { cursor } = this.#listRequest;
    if (cursor === undefined) return listOffset(this.#listRequest);
    const { text, place } = cursor;
    if (isRanked(query))
      this.#addError(place, "a search ordered by rank has no cursor; send sort, or use page");
    // With other errors the query is not known.
    if (text === "" || this.errors.length > 0) return 0;
    const listRequest = this.#listRequest;
    const position = positionIn(text, collection, { query, listRequest, seal });
    if (typeof position === "object") return position;
    this.#addError(place, cursorErrors[position]);
    return 0;
  }

  #find({ field, place }: NamedField): void {
    const error = misspelledIn(this.#queryable, field);
    if (error !== undefined) this.#addError(place, error);
    else if (this.#queryable.find(field) === undefined)
      this.#addError(place, explainUnknown(this.#named, field));
  }

  #addError(place: ErrorLocation, detail: string): readonly never[] {
    this.errors.push(errorAt(place, detail));
    return [];
  }
}

const cursorErrors = {
  malformed:
    "this is not a cursor; send the `next` of an earlier response unchanged, or an empty cursor to begin",
  foreign:
    "this cursor belongs to another query; send it with the same filters, search and sort, or begin with an empty cursor",
} as const;

/** Returns each word once, and stops when there are too many; a word before `*` is a prefix. */
function searchedIn(text: string): readonly Word[] {
  const words = new Map<string, Word>();
  // A text can repeat the same word a hundred thousand times.
  for (const piece of new Set(text.split(/\s+/))) {
    const parts = normalizeWords(piece)
      .split(" ")
      .filter((part) => part !== "");
    const isOpen = piece.endsWith("*");
    for (const [index, part] of parts.entries()) {
      const isPrefix = isOpen && index === parts.length - 1;
      words.set(`${part}${isPrefix ? "*" : ""}`, { text: part, isPrefix });
    }
    if (words.size > listRequestLimits.maxWords) break;
  }
  return [...words.values()];
}

/** The page has too many bytes; its first `count` resources are within the limit. */
export function pageTooLargeProblem(listRequest: ListRequest, count: number): Problem {
  const place = listRequest.isFromUrl ? { parameter: "limit" } : { pointer: "/limit" };
  const size = `${pageLimits.maxBytes / 1024 / 1024} MiB`;
  const detail = `use at most ${count} here, or use a cursor, whose pages are shortened to fit`;
  return invalidQuery(
    listRequest,
    [{ ...place, detail }],
    `The page would be larger than ${size}.`,
  );
}

/** Says how many groups there are, or that there are too many values to count. */
export function tooManyGroups(
  listRequest: ListRequest,
  { total, isTooLarge, hasTooManyValues }: Groups,
): Problem | undefined {
  const { maxGroups, maxDistinct, maxTextLength } = aggregateLimits;
  const place = (name: string) =>
    listRequest.isFromUrl ? { parameter: name } : { pointer: `/${name}` };
  if (total > maxGroups) {
    const detail = `there are ${total} groups, and at most ${maxGroups} are possible; add filters, or group by less`;
    return invalidQuery(listRequest, [{ ...place("by"), detail }]);
  }
  if (isTooLarge === true) {
    const detail = `the values of the groups would have more than ${maxTextLength} characters together; add filters, or name fields with shorter values`;
    return invalidQuery(listRequest, [{ ...place("aggregate"), detail }]);
  }
  if (hasTooManyValues !== true) return undefined;
  const detail = `there are more than ${maxDistinct} different values to count; add filters`;
  return invalidQuery(listRequest, [{ ...place("aggregate"), detail }]);
}

/** The errors are in the query string or, for QUERY, in the body. */
export function invalidQuery(
  { isFromUrl }: Pick<ListRequest, "isFromUrl">,
  errors: readonly (FieldError | ParameterError)[],
  detail?: string,
): Problem {
  const kind = isFromUrl ? "invalid-parameter" : "invalid-body";
  const where = isFromUrl ? "query string" : "body";
  const words = detail ?? `The ${where} is not valid; \`errors\` lists each error.`;
  return new Problem(kind, words, { errors });
}
