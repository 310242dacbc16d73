// Reads `page` and `limit` of a list of administrators, and links its pages.

import { type ParameterError, Problem } from "../../model/problem.ts";
import { pageCount, pageLimits } from "../../model/query/list-request.ts";
import type { RequestContext } from "./context.ts";
import { invalid, readParameters } from "./request-target.ts";

export interface PageParameters {
  readonly page: number;
  readonly limit: number;
  /** How many come before the page. */
  readonly offset: number;
}

/** Without a limit it is the largest one, because such a list is short as a rule. */
export function readPageParameters(context: RequestContext): PageParameters | Problem {
  const parameters = readParameters(context.searchParams, ["page", "limit"]);
  if (parameters instanceof Problem) return parameters;
  const { maxLimit } = pageLimits;
  const { page = "1", limit = `${maxLimit}` } = parameters;
  const errors: ParameterError[] = [];
  if (!wholeNumber.test(page))
    errors.push({ parameter: "page", detail: "page is a whole number from 1." });
  if (!wholeNumber.test(limit) || Number(limit) > maxLimit)
    errors.push({ parameter: "limit", detail: `limit is a whole number from 1 to ${maxLimit}.` });
  if (errors.length > 0) return invalid(errors);
  const before = (Number(page) - 1) * Number(limit);
  const offset = Math.min(before, Number.MAX_SAFE_INTEGER);
  return { page: Number(page), limit: Number(limit), offset };
}

const wholeNumber = /^[1-9]\d{0,14}$/;

/** Returns the members beside `data`, and the Link header (RFC 8288). */
export function describePage(
  { services, path }: RequestContext,
  { page, limit }: PageParameters,
  total: number,
) {
  const pages = pageCount(total, limit);
  const targets: (readonly [rel: string, page: number])[] = [["first", 1]];
  if (page > 1) targets.push(["prev", Math.min(page - 1, Math.max(1, pages))]);
  if (page < pages) targets.push(["next", page + 1]);
  targets.push(["last", Math.max(1, pages)]);
  const link = targets
    .map(([rel, to]) => `<${services.base}${path}?page=${to}&limit=${limit}>; rel="${rel}"`)
    .join(", ");
  return { members: { page, limit, total, pages }, link };
}
