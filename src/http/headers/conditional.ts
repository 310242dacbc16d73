// Conditional requests (RFC 9110 §13): entity tags, HTTP dates, and when a 304 is the answer.

import { hash } from "node:crypto";
import type { Condition } from "../../domain/problems.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { viewVersion } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { type Coding, codings, takesCoding } from "./content-coding.ts";

/**
 * The collection's counter and the time make the tag; the time keeps it apart after a restored backup,
 * and the seal after a definition that shows more or less of the same state.
 */
export const entityTag = (revision: number, updatedAt: number, seal = 0): string =>
  `"${revision.toString(36)}-${updatedAt.toString(36)}${seal === 0 ? "" : `-${seal.toString(36)}`}"`;

/** The tag of these very bytes: for what depends on more than the state of one resource or collection. */
export const contentTag = (body: string): string =>
  `"${hash("sha256", body, "base64url").slice(0, contentTagChars)}"`;

/** 132 bits. */
const contentTagChars = 22;

/** The tag of the same state in another form, for no two that differ by a byte may share one (§8.8.3). */
export const variantTag = (etag: string, form: string): string => `${etag.slice(0, -1)}.${form}"`;

/** The coding that a tag says its bytes have. */
const codingOfTag = (tag: string): Coding | undefined =>
  codings.find((coding) => tag.endsWith(`.${coding}"`));

/** Whether a tag is that of a state, in whichever coding. */
function isTagOf(tag: string, etag: string): boolean {
  const coding = tag === etag ? undefined : codingOfTag(tag);
  return tag === etag || (coding !== undefined && tag === variantTag(etag, coding));
}

let lastSecond = 0;
let lastDate = "";

/** IMF-fixdate (§5.6.7). What is written now is dated now, so the last answer is often the next one. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = new Date(ms).toUTCString();
  }
  return lastDate;
}

/** `etagc` may hold commas, so a list is matched tag by tag, not split (RFC 9110 §8.8.3). */
const tags = /"[\x21\x23-\x7e\x80-\xff]*"/g;

/** With the `W/` of a weak one; what stands before a tag otherwise makes it none. */
const weakOrStrong = /(?<![^,\s])(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** Strong comparison, as If-Match wants (§13.1.1): a weak tag matches nothing. */
function matchesStrongly(field: string, etag: string): boolean {
  return field.match(weakOrStrong)?.some((tag) => isTagOf(tag, etag)) ?? false;
}

/** Weak comparison, as If-None-Match wants (§13.1.2): a `W/` before a tag does not matter. */
function matchesWeakly(field: string, etag: string): boolean {
  if (field === etag || field.trim() === "*") return true;
  return field.match(tags)?.some((tag) => isTagOf(tag, etag)) ?? false;
}

/**
 * Of the tags that the client has, the one that is of this state. It counts only in a coding that the
 * client takes now: a cache may ask on behalf of one that cannot read what it has.
 */
export function matchingTag(headers: Headers, etag: string): string | undefined {
  const field = headers.get("if-none-match");
  if (field === null || field === etag || field.trim() === "*")
    return field === null ? undefined : etag;
  return field.match(tags)?.find((tag) => {
    const coding = codingOfTag(tag);
    return isTagOf(tag, etag) && (coding === undefined || takesCoding(headers, coding));
  });
}

/** What a conditional request is judged by. */
export interface Validators {
  /** Empty where it is not known. */
  readonly etag: string;
  /** Undefined where there is no date that could be judged by (§13.1.3, §13.1.4). */
  readonly updatedAt: number | undefined;
  /**
   * Whether no other state has the same date. Two changes within a second have it, and so has a change
   * whose time was held back because the clock was behind (see store/times.ts): then no date holds.
   */
  readonly isDateExact: boolean;
}

/** Whether the client asks for another state than the current one; If-Match makes the date moot (§13.1.4). */
export function isPreconditionFailed(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  const ifMatch = headers.get("if-match");
  if (ifMatch !== null) return ifMatch.trim() !== "*" && !matchesStrongly(ifMatch, etag);
  const ifUnmodifiedSince = headers.get("if-unmodified-since");
  if (ifUnmodifiedSince === null || updatedAt === undefined) return false;
  const since = readHttpDate(ifUnmodifiedSince);
  return since !== undefined && !(isDateExact && wholeSecond(updatedAt) <= since);
}

/** Whether the client already has the current state. If-None-Match makes If-Modified-Since moot (§13.1.3). */
export function isNotModified(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  if (headers.has("if-none-match")) return matchingTag(headers, etag) !== undefined;
  const ifModifiedSince = headers.get("if-modified-since");
  if (ifModifiedSince === null || updatedAt === undefined || !isDateExact) return false;
  const since = readHttpDate(ifModifiedSince);
  return since !== undefined && wholeSecond(updatedAt) <= since;
}

/** An HTTP date has no part of a second. */
const wholeSecond = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** What the client says of the state it wants to change, in the order of §13.2.2; undefined when nothing. */
export function readCondition(headers: Headers): Condition | Problem | undefined {
  const match = ifMatch(headers.get("if-match"));
  const noneMatch = ifNoneMatch(headers.get("if-none-match"));
  if (match instanceof Problem) return match;
  if (noneMatch instanceof Problem) return noneMatch;
  return allOf(match ?? ifUnmodifiedSince(headers.get("if-unmodified-since")), noneMatch);
}

/** The one that is there, or both together. */
export function allOf(
  first: Condition | undefined,
  second: Condition | undefined,
): Condition | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const isByTag = first.isByTag || second.isByTag;
  return condition(isByTag, (current, rules) => first(current, rules) && second(current, rules));
}

const condition = (
  isByTag: boolean,
  holds: (current: Resource | undefined, rules: Rules | undefined) => boolean,
): Condition => Object.assign(holds, { isByTag });

export function ifMatch(field: string | null): Condition | Problem | undefined {
  if (field === null) return undefined;
  if (field.trim() === "*") return condition(true, (current) => current !== undefined);
  if (!isTagList(field)) return notTags("If-Match");
  return condition(
    true,
    (current, rules) => current !== undefined && matchesStrongly(field, etagOf(current, rules)),
  );
}

export function ifNoneMatch(field: string | null): Condition | Problem | undefined {
  if (field === null) return undefined;
  if (field.trim() !== "*" && !isTagList(field)) return notTags("If-None-Match");
  return condition(
    true,
    (current, rules) => current === undefined || !matchesWeakly(field, etagOf(current, rules)),
  );
}

/** If-Match of a read, which must name tags, too. A broken If-None-Match of a read only costs a 200. */
export function refuseIfMatch(headers: Headers): Problem | undefined {
  const field = headers.get("if-match");
  if (field === null || field.trim() === "*" || isTagList(field)) return undefined;
  return notTags("If-Match");
}

const tag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** One entity tag or more, with commas between them (§8.8.3, §5.6.1). */
function isTagList(field: string): boolean {
  // No tag holds a space, so that what is left shows where the tags were.
  const left = field.replace(tag, " t ");
  return /^[t, \t]*$/.test(left) && left.includes("t") && !/t[ \t]+t/.test(left);
}

/**
 * It is refused, and not taken for a condition that fails: 412 would say that the resource has changed.
 */
const notTags = (name: string): Problem =>
  new Problem(
    "malformed-request",
    `${name} is * or entity tags with commas between them, like "1-lx3k2": send the ETag as it came, with its quotation marks.`,
  );

/** An invalid date is ignored (§13.1.4), and so is one about nothing. A second may hold many changes. */
function ifUnmodifiedSince(field: string | null): Condition | undefined {
  const since = field === null ? undefined : readHttpDate(field);
  if (since === undefined) return undefined;
  return condition(false, (current) => {
    if (current === undefined) return true;
    return current.sharesDate !== true && wholeSecond(current.updatedAt) <= since;
  });
}

export const etagOf = ({ revision, updatedAt }: Resource, rules: Rules | undefined): string =>
  entityTag(revision, updatedAt, viewVersion(rules));

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const imfFixdate = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/;

/** All three formats a recipient must read (§5.6.7). `new Date()` takes far more, in local time. */
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

/** A two-digit year that seems over 50 years ahead is one of the past (§5.6.7). */
function fullYear(twoDigits: number): number {
  const now = new Date().getUTCFullYear();
  const year = now - (now % 100) + twoDigits;
  return year > now + 50 ? year - 100 : year;
}

/** Undefined for what no clock or calendar shows, such as 31 February; a minute may have a leap second. */
function utc(year: number, month: string, day: string, h: string, m: string, s: string) {
  const index = months.indexOf(month);
  if (index < 0 || Number(h) > 23 || Number(m) > 59 || Number(s) > 60) return undefined;
  const time = Date.UTC(year, index, Number(day), Number(h), Number(m));
  if (new Date(time).getUTCDate() !== Number(day)) return undefined;
  return time + Number(s) * 1000;
}
