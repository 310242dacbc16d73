// Checks the aggregates of a list request against the definition of its collection.

import { isTimeZone } from "../lib/time-buckets.ts";
import { isOfElements, type ValueKind } from "../model/field-kind.ts";
import {
  type Aggregate,
  type Aggregation,
  aggregateLimits,
  type Grouping,
  type GroupSorting,
  readAggregate,
  readGrouping,
} from "../model/query/aggregate.ts";
import {
  type AggregateRequest,
  type ErrorLocation,
  fieldSyntax,
  isFieldPath,
  type ListRequest,
  type Located,
  listOffset,
} from "../model/query/list-request.ts";
import type { Nameable } from "./build-where.ts";
import { isObjectError } from "./explain-no-value.ts";
import { explainNotAlways, misspelledIn } from "./related-fields.ts";

type AddError = (place: ErrorLocation, detail: string) => void;

export function buildAggregation(
  named: Nameable,
  request: AggregateRequest,
  listRequest: ListRequest,
  addError: AddError,
): Aggregation {
  const builder = new AggregationBuilder(named, addError);
  const { maxAggregates, maxGroupings } = aggregateLimits;
  const aggregates = builder.all(request.aggregates, maxAggregates, (each) =>
    builder.aggregate(each),
  );
  const groupings = builder.all(request.by, maxGroupings, (each) => builder.grouping(each));
  const { fields, expand, cursor, limit } = listRequest;
  const others = [...fields.slice(0, 1), ...expand.slice(0, 1), ...(cursor ? [cursor] : [])];
  for (const { place } of others)
    addError(place, "this cannot be combined with aggregate; leave it out");
  const { timeZone } = request;
  if (timeZone !== undefined && !isTimeZone(timeZone.text))
    addError(timeZone.place, "timezone takes a name such as Europe/Berlin");
  const names = [...groupings, ...aggregates].map(({ name }) => name);
  const chosen = listRequest.sort.flatMap(({ field: name, isDescending, place }) => {
    if (names.includes(name)) return [{ name, isDescending }];
    addError(place, `groups can be sorted by: ${names.join(", ")}`);
    return [];
  });
  const usual: readonly GroupSorting[] = groupings.map(({ name }) => ({
    name,
    isDescending: false,
  }));
  return {
    aggregates,
    groupings,
    timeZone: timeZone?.text,
    sortings: chosen.length > 0 ? chosen : usual,
    offset: listOffset(listRequest),
    limit,
  };
}

class AggregationBuilder {
  readonly #named: Nameable;
  readonly #addError: AddError;

  constructor(named: Nameable, addError: AddError) {
    this.#named = named;
    this.#addError = addError;
  }

  all<T>(
    texts: readonly Located[],
    most: number,
    read: (text: Located) => T | undefined,
  ): readonly T[] {
    const [first] = texts;
    if (first !== undefined && texts.length > most)
      this.#addError(first.place, `there can be at most ${most}`);
    return texts.slice(0, most).flatMap((each, index) => {
      const isRepeated = texts.findIndex(({ text }) => text === each.text) < index;
      if (isRepeated) this.#addError(each.place, `"${each.text}" is named twice`);
      return isRepeated ? [] : (read(each) ?? []);
    });
  }

  aggregate({ text, place }: Located): Aggregate | undefined {
    const read = readAggregate(text);
    if (typeof read === "string") return this.#reject(place, read);
    if (read.function === "count") return { ...read, kind: "any" };
    const kind = this.#kindOf(read.field, place);
    const isNumeric = kind === "number" || kind === "any";
    if (kind !== undefined && !isNumeric && ["sum", "avg"].includes(read.function))
      return this.#reject(place, `${read.field} is not a number`);
    return kind && { ...read, kind };
  }

  grouping({ text, place }: Located): Grouping | undefined {
    const read = readGrouping(text);
    if (typeof read === "string") return this.#reject(place, read);
    const kind = this.#kindOf(read.field, place);
    if (kind === undefined || kind === "any") return kind && { ...read, kind };
    if (read.unit !== undefined && kind !== "time")
      return this.#reject(place, `${read.field} is not a time; declare its format as date-time`);
    if (read.bounds !== undefined && kind !== "number")
      return this.#reject(place, `${read.field} is not a number`);
    return { ...read, kind };
  }

  #kindOf(field: string, place: ErrorLocation): ValueKind | undefined {
    if (!isFieldPath(field)) return this.#reject(place, fieldSyntax);
    const { queryable, view } = this.#named;
    const shape = isOfElements(field) ? undefined : queryable.find(field);
    if (isOfElements(field))
      return this.#reject(place, "the elements of an array have no value of their own here");
    const misspelled = misspelledIn(queryable, field);
    if (misspelled !== undefined) return this.#reject(place, misspelled);
    if (shape === undefined || !view.showsAlways(field))
      return this.#reject(place, explainNotAlways(this.#named, field));
    if (shape.holds === "object") return this.#reject(place, isObjectError(field));
    if (shape.holds === "array") return this.#reject(place, `${field} is an array`);
    return shape.kind;
  }

  #reject(place: ErrorLocation, detail: string): undefined {
    this.#addError(place, detail);
  }
}
