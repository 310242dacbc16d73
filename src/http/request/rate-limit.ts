// Rejects requests over a rate limit, and sets the RateLimit header fields.

import { networkOf } from "../../lib/ip-address.ts";
import type { ReplyFields } from "../../lib/reply.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { callerIdOf } from "../../model/principal.ts";
import type { Problem } from "../../model/problem.ts";
import { HttpProblem } from "../headers/http-problem.ts";
import { addressOf } from "./client-address.ts";
import type { RequestContext } from "./context.ts";
import { isProbe } from "./probe.ts";
import type { Quota, TokenBuckets } from "./token-buckets.ts";

/** Per address and minute: enough for typing errors, too few for guessing. */
const wrongTokensPerMinute = 20;

/** Rejects a request when its address has sent too many. */
export function limitAddress(context: RequestContext): Problem | undefined {
  const { rateLimitPerAddress: perAddress, rateLimits } = context.services;
  // Health checks must not fail because of a rate limit.
  if (perAddress === 0 || isProbe(context)) return undefined;
  const network = networkOf(addressOf(context));
  if (network === "") return undefined;
  const quota = count(context, rateLimits.addresses, "address", network, perAddress);
  return limitProblem(quota, `One address may send ${perAddress} requests a minute.`);
}

/** Rejects a write without a token when its address has sent too many to the collection. */
export const limitAnonymous = (context: RequestContext): Problem | undefined =>
  context.principal.kind === "anonymous"
    ? limitCreation(context, context.collection.rules)
    : undefined;

/** Rejects a request when its token has sent too many. */
export function limitToken(context: RequestContext): Problem | undefined {
  const { rateLimitPerToken: perToken, rateLimits } = context.services;
  const caller = callerIdOf(context.principal);
  if (perToken === 0 || caller === undefined) return undefined;
  const quota = count(context, rateLimits.tokens, "token", caller, perToken);
  return limitProblem(quota, `One token may send ${perToken} requests a minute.`);
}

/** Rejects an invalid token or code when its address has sent too many; valid ones are not counted. */
export function limitWrongTokens(context: RequestContext): Problem | undefined {
  const network = networkOf(addressOf(context));
  if (network === "") return undefined;
  const seconds = context.services.rateLimits.wrongTokens.take(network, wrongTokensPerMinute);
  if (seconds === 0) return undefined;
  const detail = `The token or code is not valid, and this address has sent ${wrongTokensPerMinute} such in a minute. A valid one is accepted at any time.`;
  return new HttpProblem("too-many-requests", detail, { "retry-after": String(seconds) });
}

/** Rejects a caller without a token whose address has created too many resources. */
export function limitCreation(
  context: RequestContext,
  rules: Rules | undefined,
): Problem | undefined {
  if (rules === undefined || context.principal.kind !== "anonymous") return undefined;
  const { rateLimit } = definitionOf(rules);
  if (rateLimit === undefined) return undefined;
  const { perMinute } = rateLimit;
  const key = `${context.params.collection} ${networkOf(addressOf(context))}`;
  const quota = count(context, context.services.rateLimits.creations, "create", key, perMinute);
  return limitProblem(
    quota,
    `Without a token, one address may create ${perMinute} resources a minute in this collection.`,
  );
}

function count(
  context: RequestContext,
  buckets: TokenBuckets,
  policy: Quota["policy"],
  key: string,
  perMinute: number,
): Quota {
  const quota = { policy, perMinute, ...buckets.spend(key, perMinute) };
  // An NDJSON stream counts each line; the last count is reported.
  context.quotas = [...context.quotas.filter((other) => other.policy !== policy), quota];
  return quota;
}

function limitProblem({ waitSeconds }: Quota, limit: string): Problem | undefined {
  if (waitSeconds === 0) return undefined;
  const detail = `${limit} Nothing was stored; try again in ${waitSeconds} s.`;
  return new HttpProblem("too-many-requests", detail, { "retry-after": String(waitSeconds) });
}

/** Sets RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers). */
export function setRateLimitFields(fields: ReplyFields, quotas: readonly Quota[]): void {
  const list = (detail: (quota: Quota) => string) => quotas.map(detail).join(", ");
  fields.set(
    "RateLimit-Policy",
    list(({ policy, perMinute }) => `"${policy}";q=${perMinute};w=60`),
  );
  fields.set(
    "RateLimit",
    list(
      ({ policy, remaining: left, fullInSeconds }) => `"${policy}";r=${left};t=${fullInSeconds}`,
    ),
  );
}
