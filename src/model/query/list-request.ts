// What is asked of a list, as it was said: not yet judged by the collection's definition.

import { jsonLimits } from "../../lib/json/scan.ts";
import type { FieldError, ParameterError } from "../problem.ts";
import { pageOffset } from "./page.ts";

export const operators = ["eq", "ne", "lt", "lte", "gt", "gte", "in", "like", "exists"] as const;
export type Operator = (typeof operators)[number];

export const isOperator = (name: string): name is Operator =>
  (operators as readonly string[]).includes(name);

export const listRequestLimits = {
  maxFilters: 20,
  maxSortings: 8,
  /** Of one `in`. */
  maxValues: 100,
  maxFields: 100,
  maxWords: 20,
} as const;

/** Where in the request it was said. */
export type ErrorLocation = { readonly parameter: string } | { readonly pointer: string };

export interface Filter {
  readonly field: string;
  readonly operator: Operator;
  readonly operand: unknown;
  readonly place: ErrorLocation;
}

export interface NamedField {
  readonly field: string;
  readonly place: ErrorLocation;
}

export interface Sorted extends NamedField {
  readonly isDescending: boolean;
}

export interface Located {
  readonly text: string;
  readonly place: ErrorLocation;
}

export interface ListRequest {
  /** All must hold. */
  readonly filters: readonly Filter[];
  /** Words to search for. */
  readonly search: Located | undefined;
  readonly sort: readonly Sorted[];
  /** What is shown of each resource; empty for all of it. */
  readonly fields: readonly NamedField[];
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  /** Where a walk goes on, empty where it begins; with it, there are no pages. */
  readonly cursor: Located | undefined;
  /** Whether the total is wanted. */
  readonly isCounted: boolean;
  /** Whether operands are texts that stand for values, as in a URL, where all is text. */
  readonly isFromUrl: boolean;
  /** What was wrong with how it was said. */
  readonly errors: readonly (FieldError | ParameterError)[];
}

/** Whether nothing is asked but a page in the order of creation, which every collection has at hand. */
export const isPlain = ({ filters, search, cursor, sort }: ListRequest): boolean =>
  filters.length === 0 &&
  search === undefined &&
  cursor === undefined &&
  (sort.length === 0 || (sort.length === 1 && sort[0]?.field === "createdAt"));

/** Names with dots between them; none is empty, and there are no more than objects nest. */
export function isFieldPath(field: string): boolean {
  const names = field.split(".");
  return names.length <= jsonLimits.maxDepth && !names.includes("");
}

/** In `fields`: all members of a resource. */
export const everyField = "*";
/** In `fields`: the ETag of each resource. */
export const etagField = "_etag";

/** Whether `fields` may name it whatever the definition says. */
export const isAlwaysShown = (field: string): boolean =>
  field === everyField || field === etagField;

/** How many come before the page. */
export const listOffset = ({ page, limit }: ListRequest): number => pageOffset(page, limit);
