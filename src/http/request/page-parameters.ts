// Reads `page` and `limit` of a list of administrators, and links the pages of a list.

import { type ParameterError, Problem } from "../../model/problem.ts";
import { pageCount, pageLimits } from "../../model/query/list-request.ts";
import { subjectMessage, subjectPattern } from "../../model/token.ts";
import type { RequestContext } from "./context.ts";
import { invalid, readParameters } from "./request-target.ts";

export interface PageParameters {
  /** Whose members the list has; without it those of all. */
  readonly subject: string | undefined;
  readonly page: number;
  readonly limit: number;
  /** How many come before the page. */
  readonly offset: number;
}

/** Without a limit it is the largest one, because such a list is short as a rule. */
export function readPageParameters(context: RequestContext): PageParameters | Problem {
  const parameters = readParameters(context.searchParams, ["page", "limit", "subject"]);
  if (parameters instanceof Problem) return parameters;
  const { maxLimit } = pageLimits;
  const { page = "1", limit = `${maxLimit}`, subject } = parameters;
  const errors: ParameterError[] = [];
  if (!wholeNumber.test(page))
    errors.push({ parameter: "page", detail: "page is a whole number from 1." });
  if (!wholeNumber.test(limit) || Number(limit) > maxLimit)
    errors.push({ parameter: "limit", detail: `limit is a whole number from 1 to ${maxLimit}.` });
  if (subject !== undefined && !subjectPattern.test(subject))
    errors.push({ parameter: "subject", detail: `subject ${subjectMessage}.` });
  if (errors.length > 0) return invalid(errors);
  const before = (Number(page) - 1) * Number(limit);
  const offset = Math.min(before, Number.MAX_SAFE_INTEGER);
  return { page: Number(page), limit: Number(limit), offset, subject };
}

const wholeNumber = /^[1-9]\d{0,14}$/;

/** Returns the members beside `data`, and the Link header (RFC 8288). */
export function describePage(
  { services, path }: RequestContext,
  { page, limit, subject }: PageParameters,
  total: number,
) {
  const pages = pageCount(total, limit);
  const rest = new URLSearchParams({
    limit: `${limit}`,
    ...(subject !== undefined && { subject }),
  });
  const link = pageLinks({ page, limit, total, hasMore: page < pages })
    .map(([rel, place]) => `<${services.base}${path}?${place}&${rest}>; rel="${rel}"`)
    .join(", ");
  return { members: { page, limit, total, pages }, link };
}

interface LinkedPage {
  readonly page: number;
  readonly limit: number;
  /** Undefined when it is not known. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
}

/** The relation to another page, and its parameter. */
export type PageLink = readonly [rel: string, place: string];

/** Returns the pages that a page links to. */
export function pageLinks({ page, limit, total, hasMore }: LinkedPage): readonly PageLink[] {
  const last = total === undefined ? undefined : Math.max(1, pageCount(total, limit));
  const found: PageLink[] = [["first", "page=1"]];
  if (page > 1) found.push(["prev", `page=${Math.min(page - 1, last ?? page)}`]);
  if (hasMore) found.push(["next", `page=${page + 1}`]);
  if (last !== undefined) found.push(["last", `page=${last}`]);
  return found;
}
