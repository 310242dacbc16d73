// How a question is put together from what was said, be it in a URL or in a body.

import { jsonLimits } from "../../lib/json/scan.ts";
import type { FieldError, ParameterError } from "../../model/problem.ts";
import {
  type ErrorLocation,
  type Filter,
  isFieldPath,
  isOperator,
  type ListRequest,
  type Located,
  listRequestLimits,
  type NamedField,
  operators,
  type Sorted,
} from "../../model/query/list-request.ts";
import { suggestParameter } from "../../model/query/near-miss.ts";
import { pageLimits } from "../../model/query/page.ts";

/** Gathers a question and everything that is wrong with it. */
export class ListRequestReader {
  readonly #isSpelled: boolean;
  readonly #faults: (FieldError | ParameterError)[] = [];
  readonly #filters: Filter[] = [];
  #sort: readonly Sorted[] = [];
  #fields: readonly NamedField[] = [];
  #search: Located | undefined;
  #cursor: Located | undefined;
  #page = 1;
  #limit: number = pageLimits.defaultLimit;
  #isCounted = true;

  constructor(isSpelled: boolean) {
    this.#isSpelled = isSpelled;
  }

  fault(place: ErrorLocation, detail: string): void {
    this.#faults.push({ ...place, detail });
  }

  filter(field: string, operator: string, operand: unknown, place: ErrorLocation): void {
    const { maxFilters } = listRequestLimits;
    if (!isFieldPath(field)) this.fault(place, fieldWords);
    else if (!isOperator(operator)) this.fault(place, noOperator(operator, place));
    else if (this.#filters.length === maxFilters) {
      this.fault(place, `there are more than ${maxFilters} filters`);
    } else this.#filters.push({ field, operator, operand, place });
  }

  page(page: number, place: ErrorLocation): void {
    this.#page = page;
    if (!isWhole(page, 1)) this.fault(place, "page is a whole number from 1.");
  }

  limit(limit: number, place: ErrorLocation): void {
    const { maxLimit } = pageLimits;
    this.#limit = limit;
    if (!isWhole(limit, 1, maxLimit)) {
      this.fault(place, `limit is a whole number from 1 to ${maxLimit}.`);
    }
  }

  sort(names: readonly Located[]): void {
    this.#sort = this.#named(names, listRequestLimits.maxSortings, "sort").map(
      ({ field, place }) =>
        field.startsWith("-")
          ? { field: field.slice(1), isDescending: true, place }
          : { field, isDescending: false, place },
    );
    this.#refuseTwice(this.#sort, "sort");
  }

  fields(names: readonly Located[]): void {
    this.#fields = this.#named(names, listRequestLimits.maxFields, "fields");
    this.#refuseTwice(this.#fields, "fields");
  }

  #named(names: readonly Located[], most: number, member: string): readonly NamedField[] {
    const [first] = names;
    if (first !== undefined && names.length > most) {
      this.fault(first.place, `${member} takes up to ${most} fields`);
      return [];
    }
    const isRight = ({ text }: Located) =>
      isFieldPath(text.replace(/^-/, "")) && !signed.test(text);
    for (const name of names.filter((each) => !isRight(each))) {
      this.fault(name.place, `${member} takes fields with commas between them; ${fieldWords}`);
    }
    return names.filter(isRight).map(({ text, place }) => ({ field: text, place }));
  }

  #refuseTwice(named: readonly NamedField[], member: string): void {
    const seen = new Set<string>();
    for (const { field, place } of named) {
      if (seen.has(field)) this.fault(place, `"${field}" is in ${member} twice; name it once`);
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
    if (word !== "none" && word !== "exact") this.fault(place, "total is one of: exact, none.");
  }

  listRequest(): ListRequest {
    return {
      filters: this.#filters,
      search: this.#search,
      sort: this.#sort,
      fields: this.#fields,
      page: this.#page,
      limit: this.#limit,
      cursor: this.#cursor,
      isCounted: this.#isCounted,
      isFromUrl: this.#isSpelled,
      errors: this.#faults,
    };
  }
}

export const isWhole = (number: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isInteger(number) && number >= least && number <= most;

/** Some write a plus for the order that needs no sign; in a URL that is a space. */
const signed = /^[+\s]/;

const fieldWords = `a field is a name, or up to ${jsonLimits.maxDepth} names with dots between them`;

function noOperator(operator: string, place: ErrorLocation): string {
  const name = "parameter" in place ? place.parameter : "";
  const meant = suggestParameter(name);
  return meant === undefined
    ? `there is no operator "${operator}"; there are: ${operators.join(", ")}`
    : `there is no parameter "${name}"; use ${meant}`;
}

export const pageBesideCursor = "a walk by cursor has no pages; leave this out";
