// Builds a list request from a URL or a body, and collects its errors.

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

/** Collects the members of a list request and every error. */
export class ListRequestReader {
  readonly #isFromUrl: boolean;
  readonly #errors: (FieldError | ParameterError)[] = [];
  readonly #filters: Filter[] = [];
  #sort: readonly Sorted[] = [];
  #fields: readonly NamedField[] = [];
  #search: Located | undefined;
  #cursor: Located | undefined;
  #page = 1;
  #limit: number = pageLimits.defaultLimit;
  #isCounted = true;

  constructor(isFromUrl: boolean) {
    this.#isFromUrl = isFromUrl;
  }

  addError(place: ErrorLocation, detail: string): void {
    this.#errors.push({ ...place, detail });
  }

  filter(field: string, operator: string, operand: unknown, place: ErrorLocation): void {
    const { maxFilters } = listRequestLimits;
    if (!isFieldPath(field)) this.addError(place, fieldSyntax);
    else if (!isOperator(operator)) this.addError(place, unknownOperator(operator, place));
    else if (this.#filters.length === maxFilters) {
      this.addError(place, `at most ${maxFilters} filters are allowed`);
    } else this.#filters.push({ field, operator, operand, place });
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

  #readFields(names: readonly Located[], most: number, member: string): readonly NamedField[] {
    const [first] = names;
    if (first !== undefined && names.length > most) {
      this.addError(first.place, `${member} takes up to ${most} fields`);
      return [];
    }
    const isRight = ({ text }: Located) =>
      isFieldPath(text.replace(/^-/, "")) && !signed.test(text);
    for (const name of names.filter((each) => !isRight(each))) {
      this.addError(name.place, `${member} takes field names separated by commas; ${fieldSyntax}`);
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
      isFromUrl: this.#isFromUrl,
      errors: this.#errors,
    };
  }
}

export const isWhole = (number: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isInteger(number) && number >= least && number <= most;

/** A plus sign for ascending order is not accepted; in a URL it arrives as a space. */
const signed = /^[+\s]/;

const fieldSyntax = `a field is a name, or up to ${jsonLimits.maxDepth} names separated by dots`;

function unknownOperator(operator: string, place: ErrorLocation): string {
  const name = "parameter" in place ? place.parameter : "";
  const suggestion = suggestParameter(name);
  return suggestion === undefined
    ? `there is no operator "${operator}"; the operators are: ${operators.join(", ")}`
    : `there is no parameter "${name}"; use ${suggestion}`;
}

export const pageWithCursor = "page cannot be combined with cursor; leave it out";
