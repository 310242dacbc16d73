// The query string: strict, because a typo must not silently change what is returned.

import { type Order, pageLimits, type Window } from "../model/page.ts";
import { type ParameterFault, Problem } from "../model/problem.ts";

const credentialName =
  /^(?:access[_-]?token|refresh[_-]?token|id[_-]?token|token|bearer|auth|authorization|jwt|api[_-]?key|apikey|client[_-]?secret|secret|password|passwd|pwd)$/i;

/** The name of a parameter that looks like a credential, which a URL must never carry. */
export function credentialIn(query: string): string | undefined {
  if (query === "") return undefined;
  return pairs(query).find(([name]) => credentialName.test(name))?.[0];
}

function pairs(query: string): readonly (readonly [string, string])[] {
  return query === "" ? [] : [...new URLSearchParams(query)];
}

/** The parameters by name; unknown and repeated ones are faults. */
export function readParameters<Name extends string>(
  query: string,
  known: readonly Name[],
): Partial<Record<Name, string>> | Problem {
  const found: Partial<Record<string, string>> = Object.create(null);
  const errors: ParameterFault[] = [];
  for (const [name, value] of pairs(query)) {
    if (!(known as readonly string[]).includes(name)) {
      const exist = known.length > 0 ? `There are: ${known.join(", ")}.` : "There are none here.";
      errors.push({ parameter: name, detail: `There is no parameter of this name. ${exist}` });
    } else if (found[name] !== undefined) {
      errors.push({ parameter: name, detail: "The parameter is repeated; send it once." });
    } else {
      found[name] = value;
    }
  }
  return errors.length > 0 ? invalid(errors) : (found as Partial<Record<Name, string>>);
}

const orders: Readonly<Record<string, Order>> = { createdAt: "created", "-createdAt": "-created" };

/** What `sort` may be; the first is the default. */
export const sorts = Object.keys(orders);

const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;

/** A copy that is kept in step asks for what changed after a revision. */
export interface FeedQuery {
  readonly since: number;
  readonly limit: number;
}

/** What is asked of a collection: a page of it, or its changes. Out of range is refused, never clamped. */
export function readListQuery(query: string): Window | FeedQuery | Problem {
  const parameters = readParameters(query, ["page", "limit", "sort", "since"]);
  if (parameters instanceof Problem) return parameters;
  const { page = "1", limit = `${pageLimits.defaultLimit}`, sort = "createdAt" } = parameters;
  const { since } = parameters;
  const order = Object.hasOwn(orders, sort) ? orders[sort] : undefined;
  const errors: ParameterFault[] = [];
  const check = (isRight: boolean, parameter: string, detail: string) => {
    if (!isRight) errors.push({ parameter, detail });
  };
  check(isWhole(page, 1), "page", "page is a whole number from 1.");
  const { maxLimit } = pageLimits;
  check(isWhole(limit, 1, maxLimit), "limit", `limit is a whole number from 1 to ${maxLimit}.`);
  check(order !== undefined, "sort", `sort is one of: ${sorts.join(", ")}.`);
  if (since !== undefined) {
    check(
      isWhole(since, 0),
      "since",
      "since is a revision: 0, or the `next` of an earlier answer.",
    );
    for (const other of ["page", "sort"] as const) {
      check(
        parameters[other] === undefined,
        other,
        "since has an order of its own; leave this out.",
      );
    }
  }
  if (errors.length > 0 || order === undefined) return invalid(errors);
  return since === undefined
    ? { page: Number(page), limit: Number(limit), order }
    : { since: Number(since), limit: Number(limit) };
}

const isWhole = (text: string, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  wholeNumber.test(text) && Number(text) >= least && Number(text) <= most;

const invalid = (errors: readonly ParameterFault[]): Problem =>
  new Problem("invalid-parameter", "The query string is not valid; `errors` names each fault.", {
    errors,
  });

/** Most addresses take no parameters; an unknown one is a mistake that must not pass silently. */
export function refuseParameters({ query }: { readonly query: string }): Problem | undefined {
  if (query === "") return undefined;
  const parameters = readParameters(query, []);
  return parameters instanceof Problem ? parameters : undefined;
}
