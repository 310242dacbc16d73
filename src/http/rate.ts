// How often one address may create without a token: a bucket for each, in this process alone.

import { isIP } from "node:net";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Problem } from "../model/problem.ts";
import type { Exchange } from "./exchange.ts";
import { Refusal } from "./problem.ts";

/** Refuses a caller without a token whose address has created too often. */
export function refuseTooMany(exchange: Exchange, rules: Rules | undefined): Problem | undefined {
  if (rules === undefined || exchange.caller !== undefined) return undefined;
  const { rateLimit } = definitionOf(rules);
  if (rateLimit === undefined) return undefined;
  const { house, params } = exchange;
  const address = exchange.clientAddress ?? exchange.peerAddress();
  const { perMinute } = rateLimit;
  const seconds = house.buckets.take(`${params.collection} ${networkOf(address)}`, perMinute);
  if (seconds === 0) return undefined;
  const words = `Without a token, one address may create ${perMinute} a minute here. Nothing was stored; try again in ${seconds} s.`;
  return new Refusal("too-many-requests", words, { "retry-after": String(seconds) });
}

/** One household has a whole /64 of IPv6, and an IPv4 address may be written as an IPv6 one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(?=\d+\.)/i;
  const plain = address.replace(mapped, "");
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
