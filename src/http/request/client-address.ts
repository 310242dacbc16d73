// Returns the address of a client, and the network that counts as one client.

import { isIP } from "node:net";
import type { RequestContext } from "./context.ts";

/** Returns the client's address; behind a trusted proxy, the address that the proxy forwards. */
export function addressOf(context: RequestContext): string {
  return context.clientAddress ?? context.client.peerAddress();
}

const mapped = /^::ffff:(?=\d+\.)/i;

/** Returns an IPv4-mapped IPv6 address as IPv4. */
export const withoutIpv4Prefix = (address: string): string =>
  address.startsWith("::") ? address.replace(mapped, "") : address;

/** One client usually has a whole /64 of IPv6 addresses. */
export function networkOf(address: string): string {
  const plain = withoutIpv4Prefix(address);
  return isIP(plain) === 6 ? prefixOf(plain) : plain;
}

/** Returns the first four of the eight groups. */
function prefixOf(address: string): string {
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  // A dotted IPv4 ending replaces two groups.
  const count = groups.length + rest.length + (address.includes(".") ? 1 : 0);
  const zeros = Array.from({ length: 8 - count }, () => "0");
  const all = [...groups, ...zeros, ...rest];
  const first = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(":")}::/64`;
}
