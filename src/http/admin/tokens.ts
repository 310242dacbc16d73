// Handles the admin routes of tokens.

import type { Reply } from "../../lib/reply.ts";
import { callerIdOf } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import { tokenView } from "../../model/schemas/token.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, readText } from "../body/content.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { checkAccept, jsonTypes, postTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { describePage, readPageParameters } from "../request/page-parameters.ts";
import { rejectParameters } from "../request/request-target.ts";
import { emptyReply, json } from "../response/response.ts";

export async function listTokens(context: RequestContext): Promise<Reply | Problem> {
  const requested = readPageParameters(context);
  if (requested instanceof Problem) return requested;
  const rejected = checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const list = await context.services.tokens.list(context.principal, requested);
  if (list instanceof Problem) return list;
  const { members, link } = describePage(context, requested, list.total);
  const reply = json(context, 200, { data: list.tokens.map(tokenView), ...members });
  reply.fields.set("Link", link);
  return reply;
}

export async function getToken(context: RequestContext): Promise<Reply | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const token = await context.services.tokens.find(context.principal, context.param("id"));
  return token instanceof Problem ? token : json(context, 200, tokenView(token));
}

export async function createToken(context: RequestContext): Promise<Reply | Problem> {
  const { services } = context;
  const rejected = rejectParameters(context) ?? checkJsonBody(context, postTypes);
  if (rejected !== undefined) return rejected;
  const key = readKey(context.request.headers);
  if (key instanceof Problem) return key;
  const failed = checkWithoutValidators(context.request.headers, "is shown");
  if (failed !== undefined) return failed;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;

  const { principal } = context;
  const owner = callerIdOf(principal) ?? "";
  const issued = await services.tokens.create(
    principal,
    JSON.parse(text),
    key === undefined ? undefined : { owner, key },
  );
  if (issued instanceof Problem) return issued;

  const reply = json(context, 201, { ...tokenView(issued.token), token: issued.secret });
  reply.fields.set("Location", `${services.base}/-/tokens/${issued.token.id}`);
  return reply;
}

const checkRequest = (context: RequestContext): Problem | undefined =>
  rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);

export async function revokeToken(context: RequestContext): Promise<Reply | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const { tokens } = context.services;
  const id = context.param("id");
  const failed = checkWithoutValidators(context.request.headers, "is shown");
  if (failed !== undefined) {
    const token = await tokens.find(context.principal, id);
    return token instanceof Problem ? token : failed;
  }
  const problem = await tokens.revoke(context.principal, id);
  return problem ?? emptyReply(context);
}
