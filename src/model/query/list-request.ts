// A list request as the client sent it, before it is checked against the collection's definition.

import { jsonLimits } from "../../lib/json/scan.ts";
import { plainName } from "../field-kind.ts";
import type { FieldError, ParameterError } from "../problem.ts";
import { ownerMember } from "../resource.ts";
import type { Operator } from "./operators.ts";

export const listRequestLimits = {
  /** The limit for all conditions of a request. */
  maxConditions: 100,
  /** How deep `$or`, `$and`, `$not` and `some` can nest. */
  maxWhereDepth: 8,
  maxSortings: 8,
  /** The limit for one `in`. */
  maxValues: 100,
  maxFields: 100,
  maxWords: 20,
  maxExpanded: 16,
  /** How many references one path of `expand` can follow. */
  maxExpandDepth: 3,
} as const;

export const pageLimits = {
  defaultLimit: 20,
  maxLimit: 1000,
  /** The limit for the fields of all resources of a page. A default page has room for bodies of the default size. */
  maxBytes: 32 * 1024 * 1024,
} as const;

/** Returns undefined when a page of this limit can never be too large, so that its bytes are not counted. */
export const maxBytesOf = (limit: number, maxResourceBytes: number): number | undefined =>
  limit * maxResourceBytes > pageLimits.maxBytes ? pageLimits.maxBytes : undefined;

/** Reading or rendering so many bytes takes about a millisecond. */
export const shortPageBytes = 512 * 1024;

/**
 * Returns the size of a page of resources of average size when it is large, or 0. One resource is no page.
 * To see that a page has `maxBytes`, one resource more is read.
 */
export function largePageBytes(
  { bytes, total }: { readonly bytes: number; readonly total: number },
  { limit, maxBytes = pageLimits.maxBytes }: { limit: number; maxBytes?: number | undefined },
): number {
  const average = bytes / total;
  // Whole bytes, because fractions would not add up to nothing again.
  const expected = Math.ceil(Math.min(average * Math.min(limit, total), maxBytes + average));
  return limit > 1 && expected > shortPageBytes ? expected : 0;
}

/** The JSON Pointer that an error refers to, or the parameter; `path` is a place in the JSON of a parameter. */
export type ErrorLocation =
  | { readonly parameter: string; readonly path?: string }
  | { readonly pointer: string };

export function errorAt(place: ErrorLocation, detail: string): FieldError | ParameterError {
  if ("pointer" in place) return { pointer: place.pointer, detail };
  const { parameter, path } = place;
  return { parameter, detail: path ? `${path}: ${detail}` : detail };
}

/** A filter from a URL. Its operand stands for a value. */
export interface Filter {
  readonly field: string;
  readonly operator: Operator;
  readonly operand: string;
  readonly place: ErrorLocation;
}

/** Nested conditions as JSON, which is not checked yet. */
export interface Where {
  readonly value: unknown;
  /** Returns the place of what is at a JSON Pointer in the value. */
  readonly locate: (pointer: string) => ErrorLocation;
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

/** Figures of groups of resources, instead of the resources themselves. */
export interface AggregateRequest {
  readonly aggregates: readonly Located[];
  readonly by: readonly Located[];
  readonly timeZone: Located | undefined;
}

export interface ListRequest {
  /** A resource must match all of them. */
  readonly filters: readonly Filter[];
  readonly where: Where | undefined;
  /** The text to search for. */
  readonly search: Located | undefined;
  readonly sort: readonly Sorted[];
  /** The fields to return; empty for all. */
  readonly fields: readonly NamedField[];
  /** The paths of the references to expand. */
  readonly expand: readonly NamedField[];
  readonly aggregate: AggregateRequest | undefined;
  /** The page number, from 1. */
  readonly page: number;
  readonly limit: number;
  /** The cursor, empty for the first page. Excludes page numbers. */
  readonly cursor: Located | undefined;
  /** Whether the total is requested. */
  readonly isCounted: boolean;
  /** Whether the request is a URL, and not a body. */
  readonly isFromUrl: boolean;
  /** The errors found while reading the request. */
  readonly errors: readonly (FieldError | ParameterError)[];
}

/** Whether the request is for a page in creation order without filters, which needs no index. */
export const isPlain = (listRequest: ListRequest): boolean => {
  const { filters, where, search, cursor, sort, aggregate } = listRequest;
  return (
    aggregate === undefined &&
    filters.length === 0 &&
    where === undefined &&
    search === undefined &&
    cursor === undefined &&
    (sort.length === 0 || (sort.length === 1 && sort[0]?.field === "createdAt"))
  );
};

/** Whether the text is names separated by dots, none of them empty and not deeper than objects can nest. */
export function isFieldPath(field: string): boolean {
  const names = field.split(".").map(plainName);
  return names.length <= jsonLimits.maxDepth && !names.includes("");
}

export const fieldSyntax = `a field is a name, or up to ${jsonLimits.maxDepth} names separated by dots`;

/** In `fields`: all members of a resource. */
export const everyField = "*";
/** In `fields`: the ETag of each resource. */
export const etagField = "_etag";

/** Whether `fields` accepts the name for every collection. */
export const isAlwaysShown = (field: string): boolean =>
  field === everyField || field === etagField || field === ownerMember;

export const isOnlyForAdmins = (field: string): boolean => field === ownerMember;

/** `created` is oldest first, so that full pages do not change; `-created` is newest first. */
export type Order = "created" | "-created";

/** The number of pages, 0 for an empty collection. */
export const pageCount = (total: number, limit: number): number => Math.ceil(total / limit);

/** The number of items before the page. Pages are counted from 1. */
export const pageOffset = (page: number, limit: number): number =>
  Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);

/** The number of resources before the page. */
export const listOffset = ({ page, limit }: ListRequest): number => pageOffset(page, limit);
