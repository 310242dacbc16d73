// Handles the admin routes of tokens.

import type { TokenRequest } from "../../domain/tokens.ts";
import { readDraft } from "../../model/draft.ts";
import type { FieldError } from "../../model/problem.ts";
import { Problem } from "../../model/problem.ts";
import type { Token } from "../../model/token.ts";
import { checkJsonBody, invalidBody, readBody } from "../body/content.ts";
import type { RequestContext } from "../context.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { checkAccept, jsonTypes, postTypes } from "../headers/media-type.ts";
import { json } from "../response.ts";
import { rejectParameters } from "../search-params.ts";

const isoOrNull = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

/** Returns the public members of a token, never its secret or hash. */
export const tokenView = (token: Token) => ({
  id: token.id,
  name: token.name,
  scopes: token.scopes,
  createdAt: isoOrNull(token.createdAt),
  expiresAt: isoOrNull(token.expiresAt),
  usedAt: isoOrNull(token.usedAt),
  revokedAt: isoOrNull(token.revokedAt),
});

export async function listTokens(context: RequestContext): Promise<Response | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const tokens = await context.services.tokens.list();
  return json(context, 200, { data: tokens.map(tokenView) });
}

export async function getToken(context: RequestContext): Promise<Response | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const token = await context.services.tokens.find(context.param("id"));
  return token instanceof Problem ? token : json(context, 200, tokenView(token));
}

export async function createToken(context: RequestContext): Promise<Response | Problem> {
  const { services } = context;
  const rejected = rejectParameters(context) ?? checkJsonBody(context, postTypes);
  if (rejected !== undefined) return rejected;
  const key = readKey(context.request.headers);
  if (key instanceof Problem) return key;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const tokenRequest = readTokenRequest(bytes);
  if (!("name" in tokenRequest)) return invalidBody(tokenRequest);

  const owner = context.token.id;
  const issued = await services.tokens.create(
    tokenRequest,
    key === undefined ? undefined : { owner, key },
  );
  if (issued instanceof Problem) return issued;

  const response = json(context, 201, { ...tokenView(issued.token), token: issued.secret });
  response.headers.set("location", `${services.base}/-/tokens/${issued.token.id}`);
  return response;
}

const checkRequest = (context: RequestContext): Problem | undefined =>
  rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);

export async function revokeToken(context: RequestContext): Promise<Response | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const problem = await context.services.tokens.revoke(context.param("id"));
  if (problem !== undefined) return problem;
  const headers = new Headers(context.services.commonHeaders);
  headers.set("cache-control", "no-store");
  return new Response(null, { status: 204, headers });
}

/** Checks the types of the members; the domain checks scopes and expiry. */
function readTokenRequest(bytes: Uint8Array): TokenRequest | readonly FieldError[] {
  const draft = readDraft(bytes);
  if (!("fields" in draft)) return draft;
  const { name, scopes, expiresAt = null, ...rest } = JSON.parse(draft.fields);
  const unknownMembers = [...(draft.id === undefined ? [] : ["id"]), ...Object.keys(rest)];
  const errors: FieldError[] = unknownMembers.map((key) => ({
    pointer: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    detail: "There is no such member; the members are: name, scopes, expiresAt.",
  }));
  if (typeof name !== "string") errors.push({ pointer: "/name", detail: "A string is needed." });
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    errors.push({
      pointer: "/scopes",
      detail: 'An array of strings is needed, like ["people:read"].',
    });
  }
  const at = expiresAt === null ? null : readTime(expiresAt);
  if (at === undefined) {
    errors.push({
      pointer: "/expiresAt",
      detail: "A time like 2030-01-31T12:00:00Z is needed, or null for never.",
    });
  }
  return errors.length > 0 || at === undefined ? errors : { name, scopes, expiresAt: at };
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

function readTime(value: unknown): number | undefined {
  if (typeof value !== "string" || !isoTime.test(value)) return undefined;
  const at = Date.parse(value);
  const day = value.slice(0, "2030-01-31".length);
  // Date.parse turns 30 February into 2 March.
  return Number.isNaN(at) || new Date(day).getUTCDate() !== Number(day.slice(-2)) ? undefined : at;
}
