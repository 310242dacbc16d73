// Handles what a caller asks about itself: who it is, and the end of its credential.

import { unauthenticated } from "../../domain/problems.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Problem } from "../../model/problem.ts";
import { callerView } from "../../model/schemas/caller.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { emptyReply, json } from "../response/response.ts";

export function getCaller(context: RequestContext): Reply | Problem {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const { principal } = context;
  const { kind } = principal;
  return kind === "anonymous" ? unauthenticated : json(context, 200, callerView(principal, kind));
}

export async function endCredential(context: RequestContext): Promise<Reply | Problem> {
  const { services, request, principal } = context;
  const rejected =
    rejectParameters(context) ?? checkWithoutValidators(request.headers, "is not shown");
  return rejected ?? (await services.access.callers.end(principal)) ?? emptyReply(context);
}
