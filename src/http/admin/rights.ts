// Handles questions about access: of administrators about any subject, and of callers about themselves.

import type { Explanation } from "../../domain/rights/rights.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import type { AccessQuery, AccessReport } from "../../model/schemas/access-query.ts";
import { readAccessQuery } from "../../model/schemas/access-query.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, invalidBody, readText } from "../body/content.ts";
import { checkAccept, jsonTypes, queryTypes, requireContentType } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { problemStatus } from "../response/problem.ts";
import { json } from "../response/response.ts";

export async function explainAccess(context: RequestContext): Promise<Reply | Problem> {
  const { services, request } = context;
  const rejected =
    rejectParameters(context) ??
    requireContentType(request.headers) ??
    checkJsonBody(context, queryTypes);
  if (rejected !== undefined) return rejected;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;
  const query = readAccessQuery(JSON.parse(text));
  if (!("verb" in query)) return invalidBody(query);
  const explained = await services.rights.explain(context.principal, query);
  return explained instanceof Problem ? explained : json(context, 200, reportOf(query, explained));
}

const successStatus = { read: 200, create: 201, update: 200, delete: 204 } as const;

/** Returns the explanation with the status of the response that the subject would get. */
export function reportOf(
  { verb }: AccessQuery,
  { problem, ...explained }: Explanation,
): AccessReport {
  if (problem === undefined) return { allowed: true, status: successStatus[verb], ...explained };
  const { kind, detail, errors } = problem;
  const status = problemStatus[kind];
  return { allowed: false, status, detail, ...(errors && { errors }), ...explained };
}

export async function getOwnRights(context: RequestContext): Promise<Reply | Problem> {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const { services, principal, params } = context;
  const rights = await services.rights.own(principal, context.param("collection"), params.id);
  return rights instanceof Problem ? rights : json(context, 200, rights);
}
