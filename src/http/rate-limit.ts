// How often one address or one token may ask: a bucket for each, in this process alone.

import { isIP } from "node:net";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Problem } from "../model/problem.ts";
import type { RequestContext } from "./context.ts";
import { HttpProblem } from "./problem.ts";
import type { Quota } from "./rate-limits.ts";
import type { Buckets } from "./token-bucket.ts";

/** Of one address in a minute; a person who mistypes needs fewer, and who guesses needs more. */
const wrongTokensPerMinute = 20;

/** These must be answered, or whoever watches the server takes it for dead. */
const unlimitedPaths = ["/-/health", "/-/ready"];

/** Refuses a request from an address that has asked too often. */
export function refuseAddress(context: RequestContext): Problem | undefined {
  const { perAddress, addresses } = context.services.rateLimits;
  if (perAddress === 0 || unlimitedPaths.includes(context.path)) return undefined;
  const network = networkOf(addressOf(context));
  if (network === "") return undefined;
  const quota = count(context, addresses, "address", network, perAddress);
  return tooMany(quota, `One address may send ${perAddress} requests a minute.`);
}

/** Refuses a request with a valid token that has asked too often. */
export function refuseToken(context: RequestContext): Problem | undefined {
  const { perToken, tokens } = context.services.rateLimits;
  if (perToken === 0 || context.caller === undefined) return undefined;
  const quota = count(context, tokens, "token", context.caller.id, perToken);
  return tooMany(quota, `One token may send ${perToken} requests a minute.`);
}

/** Refuses a wrong token from an address that has sent too many; a valid one never comes here. */
export function refuseWrongToken(context: RequestContext): Problem | undefined {
  const network = networkOf(addressOf(context));
  if (network === "") return undefined;
  const seconds = context.services.rateLimits.wrongTokens.take(network, wrongTokensPerMinute);
  if (seconds === 0) return undefined;
  const words = `The token is not valid, and this address has sent ${wrongTokensPerMinute} such tokens in a minute. A valid token is answered at once.`;
  return new HttpProblem("too-many-requests", words, { "retry-after": String(seconds) });
}

/** Refuses a caller without a token whose address has created too often. */
export function refuseCreation(
  context: RequestContext,
  rules: Rules | undefined,
): Problem | undefined {
  if (rules === undefined || context.caller !== undefined) return undefined;
  const { rateLimit } = definitionOf(rules);
  if (rateLimit === undefined) return undefined;
  const { perMinute } = rateLimit;
  const key = `${context.params.collection} ${networkOf(addressOf(context))}`;
  const quota = count(context, context.services.rateLimits.creations, "create", key, perMinute);
  return tooMany(quota, `Without a token, one address may create ${perMinute} a minute here.`);
}

function count(
  context: RequestContext,
  buckets: Buckets,
  policy: Quota["policy"],
  key: string,
  perMinute: number,
): Quota {
  const quota = { policy, perMinute, ...buckets.spend(key, perMinute) };
  // A stream of lines counts each of them; the last count tells.
  context.quotas = [...context.quotas.filter((other) => other.policy !== policy), quota];
  return quota;
}

function tooMany({ waitSeconds }: Quota, words: string): Problem | undefined {
  if (waitSeconds === 0) return undefined;
  const detail = `${words} Nothing was stored; try again in ${waitSeconds} s.`;
  return new HttpProblem("too-many-requests", detail, { "retry-after": String(waitSeconds) });
}

/** Tells what is left (draft-ietf-httpapi-ratelimit-headers). */
export function setRateLimitFields(headers: Headers, quotas: readonly Quota[]): void {
  const list = (words: (quota: Quota) => string) => quotas.map(words).join(", ");
  headers.set(
    "ratelimit-policy",
    list(({ policy, perMinute }) => `"${policy}";q=${perMinute};w=60`),
  );
  headers.set(
    "ratelimit",
    list(({ policy, left, fullInSeconds }) => `"${policy}";r=${left};t=${fullInSeconds}`),
  );
}

/** The client's address as far as it is known: behind a trusted proxy the one that it names. */
export function addressOf(context: RequestContext): string {
  return context.clientAddress ?? context.peerAddress();
}

const mapped = /^::ffff:(?=\d+\.)/i;

/** An IPv4 address may be written as an IPv6 one. */
export const plainAddress = (address: string): string =>
  address.startsWith("::") ? address.replace(mapped, "") : address;

/** One household has a whole /64 of IPv6. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  return isIP(plain) === 6 ? prefixOf(plain) : plain;
}

/** The first four of its eight groups. */
function prefixOf(address: string): string {
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  // Four dotted numbers at the end stand for two groups.
  const count = groups.length + rest.length + (address.includes(".") ? 1 : 0);
  const zeros = Array.from({ length: 8 - count }, () => "0");
  const all = [...groups, ...zeros, ...rest];
  const first = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(":")}::/64`;
}
