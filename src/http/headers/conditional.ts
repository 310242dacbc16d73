// Implements conditional requests (RFC 9110 §13): entity tags, HTTP dates and preconditions.

import { hash } from "node:crypto";
import type { CollectionAccess } from "../../domain/collection-access.ts";
import type { Mask } from "../../domain/mask.ts";
import type { WriteCondition } from "../../domain/write/operation.ts";
import type { Validators } from "../../lib/reply.ts";
import type { Collection } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { entityTags } from "../../model/schemas/entity-tags.ts";
import { acceptsCoding, type Coding, codings } from "./content-coding.ts";

/** The tag of a collection has the revision and the time, which differs after a restored backup. */
export const collectionTag = ({ revision, updatedAt }: Collection): string =>
  `"${revision.toString(36)}-${updatedAt.toString(36)}"`;

/** Returns a tag from the bytes, for what depends on more than one resource or collection. */
export const contentTag = (body: string): string =>
  `"${hash("sha256", body, "base64url").slice(0, contentTagChars)}"`;

/** 132 bits. */
const contentTagChars = 22;

/** Returns the tag of the same state in another format: different bytes need different tags (§8.8.3). */
export const variantTag = (etag: string, form: string): string => `${etag.slice(0, -1)}.${form}"`;

/** Returns the content coding that a tag names. */
const codingOfTag = (tag: string): Coding | undefined =>
  codings.find((coding) => tag.endsWith(`.${coding}"`));

/** Returns whether a tag belongs to a state, in any coding. */
export const isTagOf = (tag: string, etag: string): boolean =>
  tag === etag || withoutCoding(tag) === etag;

/** Returns the tag of the same state without a content coding. */
function withoutCoding(tag: string): string {
  const coding = codingOfTag(tag);
  return coding === undefined ? tag : `${tag.slice(0, -coding.length - 2)}"`;
}

let lastSecond = 0;
let lastDate = "";

/** Formats an IMF-fixdate (§5.6.7). Consecutive calls often have the same second, so the last one is cached. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = new Date(ms).toUTCString();
  }
  return lastDate;
}

/** `etagc` may contain commas, so a list is matched tag by tag, not split (RFC 9110 §8.8.3). */
const tags = /"[\x21\x23-\x7e\x80-\xff]*"/g;

/** A tag with an optional `W/`; other text before it makes it invalid. */
const weakOrStrong = /(?<![^,\s])(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** Strong comparison for If-Match (§13.1.1): a weak tag never matches. */
function matchesStrongly(field: string, isCurrent: (tag: string) => boolean): boolean {
  return field.match(weakOrStrong)?.some(isCurrent) ?? false;
}

/** Weak comparison for If-None-Match (§13.1.2): `W/` is ignored. */
function matchesWeakly(field: string, isCurrent: (tag: string) => boolean): boolean {
  return field.trim() === "*" || (field.match(tags)?.some(isCurrent) ?? false);
}

/** Tells the tags of a state, as any caller sees it. */
export const tagsOf =
  (resource: Resource, seen: Pick<CollectionAccess, "isValidator">) =>
  (tag: string): boolean =>
    seen.isValidator(withoutCoding(tag).slice(1, -1), resource);

/**
 * Returns the tag in If-None-Match that belongs to this state. Its coding must be accepted by this
 * request, because a cache may ask for a client that cannot decode the cached body.
 */
export function matchingTag(headers: Headers, etag: string): string | undefined {
  const field = headers.get("if-none-match");
  if (field === null || field === etag || field.trim() === "*")
    return field === null ? undefined : etag;
  if (!isTagList(field)) return undefined;
  return field.match(tags)?.find((tag) => {
    const coding = codingOfTag(tag);
    return isTagOf(tag, etag) && (coding === undefined || acceptsCoding(headers, coding));
  });
}

/** Returns whether a read has preconditions to evaluate. */
export const hasPreconditions = (headers: Headers): boolean =>
  headers.has("if-none-match") ||
  headers.has("if-modified-since") ||
  headers.has("if-match") ||
  headers.has("if-unmodified-since");

/** Returns whether If-Match or If-Unmodified-Since fails; If-Match takes precedence (§13.1.4). */
export function isPreconditionFailed(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact, isOtherTag } = validators;
  const ifMatch = headers.get("if-match");
  if (ifMatch !== null)
    return (
      ifMatch.trim() !== "*" &&
      !matchesStrongly(ifMatch, (tag) => isTagOf(tag, etag) || isOtherTag?.(tag) === true)
    );
  const ifUnmodifiedSince = headers.get("if-unmodified-since");
  if (ifUnmodifiedSince === null || updatedAt === undefined) return false;
  const since = readHttpDate(ifUnmodifiedSince);
  return since !== undefined && !(isDateExact && wholeSecond(updatedAt) <= since);
}

/** Returns whether the client has the current state; If-None-Match takes precedence (§13.1.3). */
export function isNotModified(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  if (headers.has("if-none-match")) return matchingTag(headers, etag) !== undefined;
  const ifModifiedSince = headers.get("if-modified-since");
  if (ifModifiedSince === null || updatedAt === undefined || !isDateExact) return false;
  const since = readHttpDate(ifModifiedSince);
  return since !== undefined && wholeSecond(updatedAt) <= since;
}

/** HTTP dates have a resolution of one second. */
export const wholeSecond = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** What preconditions of a write compare. */
export interface TargetState {
  isTag(tag: string): boolean;
  /** False when several states share the second. */
  isUnmodifiedSince(since: number): boolean;
}

/** Finds the target of a write in the current state; undefined when there is none. */
export type FindTarget = (
  current: Resource | undefined,
  access: CollectionAccess,
) => TargetState | undefined;

const resourceState: FindTarget = (current, access) =>
  current && {
    isTag: tagsOf(current, access),
    isUnmodifiedSince: (since) =>
      access.showsUpdates(current) &&
      current.sharesDate !== true &&
      wholeSecond(current.updatedAt) <= since,
  };

/** Reads the preconditions of a write in the order of §13.2.2; undefined without any. */
export function readCondition(
  headers: Headers,
  find: FindTarget = resourceState,
): WriteCondition | Problem | undefined {
  const match = ifMatch(headers.get("if-match"), find);
  const noneMatch = ifNoneMatch(headers.get("if-none-match"), find);
  if (match instanceof Problem) return match;
  if (noneMatch instanceof Problem) return noneMatch;
  return allOf(match ?? ifUnmodifiedSince(headers.get("if-unmodified-since"), find), noneMatch);
}

/** Combines two optional conditions. */
export function allOf(
  first: WriteCondition | undefined,
  second: WriteCondition | undefined,
): WriteCondition | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const isByTag = first.isByTag || second.isByTag;
  return condition(isByTag, (current, access) => first(current, access) && second(current, access));
}

const condition = (
  isByTag: boolean,
  holds: (current: Resource | undefined, access: CollectionAccess) => boolean,
): WriteCondition => Object.assign(holds, { isByTag });

export function ifMatch(
  field: string | null,
  find = resourceState,
): WriteCondition | Problem | undefined {
  if (field === null) return undefined;
  if (field.trim() === "*") return condition(true, (...state) => find(...state) !== undefined);
  if (!isTagList(field)) return invalidTags("If-Match");
  return condition(true, (...state) => {
    const target = find(...state);
    return target !== undefined && matchesStrongly(field, target.isTag);
  });
}

export function ifNoneMatch(
  field: string | null,
  find = resourceState,
): WriteCondition | Problem | undefined {
  if (field === null) return undefined;
  if (field.trim() !== "*" && !isTagList(field)) return invalidTags("If-None-Match");
  return condition(true, (...state) => {
    const target = find(...state);
    return target === undefined || !matchesWeakly(field, target.isTag);
  });
}

/** Checks the syntax of If-Match on a read. A malformed If-None-Match on a read is harmless: it gives a 200. */
export function checkIfMatch(headers: Headers): Problem | undefined {
  const field = headers.get("if-match");
  if (field === null || field.trim() === "*" || isTagList(field)) return undefined;
  return invalidTags("If-Match");
}

/** Returns whether it is a list of entity tags (§8.8.3, §5.6.1). */
const isTagList = (field: string): boolean => entityTags.test(field);

/**
 * A malformed field is 400, not 412, which would say that the resource has changed.
 */
const invalidTags = (name: string): Problem =>
  new Problem(
    "malformed-request",
    `${name} must be * or entity tags separated by commas, like "1-lx3k2". Send the ETag unchanged, with its quotation marks.`,
  );

/** Ignores an invalid date (§13.1.4). A date fails when several changes share its second. */
function ifUnmodifiedSince(field: string | null, find: FindTarget): WriteCondition | undefined {
  const since = field === null ? undefined : readHttpDate(field);
  if (since === undefined) return undefined;
  return condition(false, (...state) => find(...state)?.isUnmodifiedSince(since) ?? true);
}

/** The tag of a resource as it is shown. */
export const etagOf = (resource: Resource, mask: Mask): string => `"${mask.validator(resource)}"`;

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const imfFixdate = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/;

/** Parses the three formats of §5.6.7. `new Date()` accepts many more, in local time. */
export function readHttpDate(text: string): number | undefined {
  const fixed = imfFixdate.exec(text) ?? rfc850Date.exec(text);
  if (fixed !== null) {
    const [, day = "", month = "", year = "", h = "", m = "", s = ""] = fixed;
    return utc(year.length === 2 ? fullYear(Number(year)) : Number(year), month, day, h, m, s);
  }
  const old = asctimeDate.exec(text);
  if (old === null) return undefined;
  const [, month = "", day = "", h = "", m = "", s = "", year = ""] = old;
  return utc(Number(year), month, day, h, m, s);
}

/** A two-digit year more than 50 years ahead is in the past (§5.6.7). */
function fullYear(twoDigits: number): number {
  const now = new Date().getUTCFullYear();
  const year = now - (now % 100) + twoDigits;
  return year > now + 50 ? year - 100 : year;
}

/** Returns undefined for an impossible date or time, such as 31 February; allows a leap second. */
function utc(year: number, month: string, day: string, h: string, m: string, s: string) {
  const index = months.indexOf(month);
  if (index < 0 || Number(h) > 23 || Number(m) > 59 || Number(s) > 60) return undefined;
  const time = Date.UTC(year, index, Number(day), Number(h), Number(m));
  if (new Date(time).getUTCDate() !== Number(day)) return undefined;
  return time + Number(s) * 1000;
}
