// Tokens over HTTP, for administrators.

import type { TokenWish } from "../domain/tokens.ts";
import { readDraft } from "../model/draft.ts";
import type { Fault } from "../model/problem.ts";
import { Problem } from "../model/problem.ts";
import type { Token } from "../model/token.ts";
import { json } from "./answer.ts";
import { invalidBody, readBody, refuseBody } from "./body/body.ts";
import { jsonTypes, refuseUnacceptable, takenByPost } from "./body/media.ts";
import type { Exchange } from "./exchange.ts";
import { readKey } from "./once.ts";
import { refuseParameters } from "./query.ts";

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

export async function listTokens(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseQuestion(exchange);
  if (refused !== undefined) return refused;
  const tokens = await exchange.house.tokens.list();
  return json(exchange, 200, { data: tokens.map(tokenView) });
}

export async function getToken(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseQuestion(exchange);
  if (refused !== undefined) return refused;
  const token = await exchange.house.tokens.find(exchange.param("id"));
  return token instanceof Problem ? token : json(exchange, 200, tokenView(token));
}

export async function createToken(exchange: Exchange): Promise<Response | Problem> {
  const { house } = exchange;
  const refused = refuseParameters(exchange) ?? refuseBody(exchange, takenByPost);
  if (refused !== undefined) return refused;
  const key = readKey(exchange.request.headers);
  if (key instanceof Problem) return key;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const wish = readWish(bytes);
  if (!("name" in wish)) return invalidBody(wish);

  const owner = exchange.token.id;
  const made = await house.tokens.create(wish, key === undefined ? undefined : { owner, key });
  if (made instanceof Problem) return made;

  const response = json(exchange, 201, { ...tokenView(made.token), token: made.secret });
  response.headers.set("location", `${house.base}/-/tokens/${made.token.id}`);
  return response;
}

const refuseQuestion = (exchange: Exchange): Problem | undefined =>
  refuseParameters(exchange) ?? refuseUnacceptable(exchange.request.headers, jsonTypes);

export async function revokeToken(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseParameters(exchange);
  if (refused !== undefined) return refused;
  const problem = await exchange.house.tokens.revoke(exchange.param("id"));
  if (problem !== undefined) return problem;
  const headers = new Headers(exchange.house.commonHeaders);
  headers.set("cache-control", "no-store");
  return new Response(null, { status: 204, headers });
}

/** The shape is checked here, the rules (known scopes, a future expiry) in the domain. */
function readWish(bytes: Uint8Array): TokenWish | readonly Fault[] {
  const draft = readDraft(bytes);
  if (!("fields" in draft)) return draft;
  const { name, scopes, expiresAt = null, ...rest } = JSON.parse(draft.fields);
  const strangers = [...(draft.id === undefined ? [] : ["id"]), ...Object.keys(rest)];
  const faults: Fault[] = strangers.map((key) => ({
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
