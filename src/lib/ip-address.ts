// IP addresses as text: the IPv4 address in an IPv6 address, and the network that counts as one client.

import { isIP } from "node:net";

const dotted = /^::ffff:(?=\d+\.)/i;
const mappedGroups = "0:0:0:0:0:ffff";

/** Returns an IPv4-mapped IPv6 address, in any notation, as IPv4. */
export function withoutIpv4Prefix(address: string): string {
  if (!address.includes(":")) return address;
  const plain = address.replace(dotted, "");
  if (isIP(plain) !== 6) return plain;
  const groups = groupsOf(plain);
  if (groups.slice(0, 6).join(":") !== mappedGroups) return plain;
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** One client usually has a whole /64 of IPv6 addresses. */
export function networkOf(address: string): string {
  const plain = withoutIpv4Prefix(address);
  return isIP(plain) === 6 ? `${groupsOf(plain).slice(0, 4).join(":")}::/64` : plain;
}

/** Returns the eight groups of a valid IPv6 address, without leading zeros and in lower case. */
function groupsOf(address: string): readonly string[] {
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const first = partsOf(head);
  const last = partsOf(tail ?? "");
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last];
}

const partsOf = (text: string): readonly string[] =>
  text === ""
    ? []
    : text.split(":").flatMap((part) => (part.includes(".") ? ofIpv4(part) : hex(part)));

const hex = (group: string): string => Number.parseInt(group, 16).toString(16);

/** A dotted ending stands for two groups. */
function ofIpv4(text: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16));
}
