// Tokens over HTTP, for administrators.

import type { TokenRequest } from "../../domain/tokens.ts";
import { readDraft } from "../../model/draft.ts";
import type { FieldError } from "../../model/problem.ts";
import { Problem } from "../../model/problem.ts";
import type { Token } from "../../model/token.ts";
import { invalidBody, readBody, refuseBody } from "../body/content.ts";
import type { RequestContext } from "../context.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { jsonTypes, refuseUnacceptable, takenByPost } from "../headers/media-type.ts";
import { json } from "../response.ts";
import { refuseParameters } from "../search-params.ts";

const isoOrNull = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

/** What may be seen of a token: never the secret, nor its hash. */
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
  const refused = refuseQuestion(context);
  if (refused !== undefined) return refused;
  const tokens = await context.services.tokens.list();
  return json(context, 200, { data: tokens.map(tokenView) });
}

export async function getToken(context: RequestContext): Promise<Response | Problem> {
  const refused = refuseQuestion(context);
  if (refused !== undefined) return refused;
  const token = await context.services.tokens.find(context.param("id"));
  return token instanceof Problem ? token : json(context, 200, tokenView(token));
}

export async function createToken(context: RequestContext): Promise<Response | Problem> {
  const { services } = context;
  const refused = refuseParameters(context) ?? refuseBody(context, takenByPost);
  if (refused !== undefined) return refused;
  const key = readKey(context.request.headers);
  if (key instanceof Problem) return key;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const wish = readWish(bytes);
  if (!("name" in wish)) return invalidBody(wish);

  const owner = context.token.id;
  const made = await services.tokens.create(wish, key === undefined ? undefined : { owner, key });
  if (made instanceof Problem) return made;

  const response = json(context, 201, { ...tokenView(made.token), token: made.secret });
  response.headers.set("location", `${services.base}/-/tokens/${made.token.id}`);
  return response;
}

const refuseQuestion = (context: RequestContext): Problem | undefined =>
  refuseParameters(context) ?? refuseUnacceptable(context.request.headers, jsonTypes);

export async function revokeToken(context: RequestContext): Promise<Response | Problem> {
  const refused = refuseParameters(context);
  if (refused !== undefined) return refused;
  const problem = await context.services.tokens.revoke(context.param("id"));
  if (problem !== undefined) return problem;
  const headers = new Headers(context.services.commonHeaders);
  headers.set("cache-control", "no-store");
  return new Response(null, { status: 204, headers });
}

/** The shape is checked here, the rules (known scopes, a future expiry) in the domain. */
function readWish(bytes: Uint8Array): TokenRequest | readonly FieldError[] {
  const draft = readDraft(bytes);
  if (!("fields" in draft)) return draft;
  const { name, scopes, expiresAt = null, ...rest } = JSON.parse(draft.fields);
  const unknownFlags = [...(draft.id === undefined ? [] : ["id"]), ...Object.keys(rest)];
  const faults: FieldError[] = unknownFlags.map((key) => ({
    pointer: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    detail: "There is no such member; there are: name, scopes, expiresAt.",
  }));
  if (typeof name !== "string") faults.push({ pointer: "/name", detail: "A string is needed." });
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    faults.push({
      pointer: "/scopes",
      detail: 'An array of strings is needed, like ["people:read"].',
    });
  }
  const at = expiresAt === null ? null : readTime(expiresAt);
  if (at === undefined) {
    faults.push({
      pointer: "/expiresAt",
      detail: "A time like 2030-01-31T12:00:00Z is needed, or null for never.",
    });
  }
  return faults.length > 0 || at === undefined ? faults : { name, scopes, expiresAt: at };
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

function readTime(value: unknown): number | undefined {
  if (typeof value !== "string" || !isoTime.test(value)) return undefined;
  const at = Date.parse(value);
  const day = value.slice(0, "2030-01-31".length);
  // 30 February would pass for 2 March.
  return Number.isNaN(at) || new Date(day).getUTCDate() !== Number(day.slice(-2)) ? undefined : at;
}
