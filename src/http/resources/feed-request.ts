// Reads a request for the changes of a collection after a position.

import type { FeedRequest } from "../../domain/feeds.ts";
import { readFeedPosition, readSealedPosition } from "../../model/feed-position.ts";
import type { ParameterError, Problem } from "../../model/problem.ts";
import type { ListRequest } from "../../model/query/list-request.ts";
import type { ListParameter } from "../../model/query/near-miss.ts";
import { invalid } from "../request/request-target.ts";

const feedNames: readonly string[] = ["since", "limit", "fields", "where"];

/** Reads a request for changes: a list request with `since`. */
export function readFeedRequest(
  listRequest: ListRequest,
  values: ReadonlyMap<ListParameter, string>,
  since: string,
): FeedRequest | Problem {
  const errors = [...(listRequest.errors as readonly ParameterError[])];
  const named = new Set(errors.map(({ parameter }) => parameter));
  const addError = (parameter: string, detail: string) => {
    if (!named.has(parameter)) errors.push({ parameter, detail });
    named.add(parameter);
  };
  const position = since === "0" ? 0 : (readFeedPosition(since) ?? readSealedPosition(since));
  if (position === undefined) {
    addError("since", "since is 0, or the unchanged `next` of an earlier response.");
  }
  const otherReserved = [...values.keys()].filter((name) => !feedNames.includes(name));
  for (const name of otherReserved) {
    addError(name, "this cannot be combined with since; leave it out.");
  }
  return position === undefined || errors.length > 0
    ? invalid(errors)
    : { since: position, listRequest };
}
