// Decides which proxies are trusted, and reads X-Forwarded-* from them.

import { BlockList, isIP } from "node:net";

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export class Proxies {
  readonly #trusted = new BlockList();
  /** Whether no proxy is trusted, so that requests need no check. */
  readonly isEmpty: boolean;

  /** Whether the server itself speaks TLS. */
  readonly #hasTls: boolean;

  /** Addresses and CIDR ranges, already validated. */
  constructor(trusted: readonly string[], hasTls = false) {
    this.#hasTls = hasTls;
    this.isEmpty = trusted.length === 0;
    for (const entry of trusted) {
      const [address = "", bits] = entry.split("/");
      if (bits === undefined) this.#trusted.addAddress(address, familyOf(address));
      else this.#trusted.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  trusts(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted.check(address, familyOf(address));
  }

  /** True for a direct request over the network without TLS, or when a trusted proxy forwards it as http. */
  isClearText(peer: string, forwardedProto: string | null): boolean {
    if (!this.trusts(peer))
      return !this.#hasTls && isIP(peer) !== 0 && !loopback.check(peer, familyOf(peer));
    const schemes = (forwardedProto ?? "").split(",");
    return schemes.some((scheme) => scheme.trim().toLowerCase() === "http");
  }

  /** Returns the right-most untrusted hop; the hops before it can be forged (RFC 7239 §8.1). */
  clientAddress(peer: string, forwardedFor: string | null): string {
    let address = peer;
    const hops = (forwardedFor ?? "").split(",").map((hop) => hop.trim());
    while (this.trusts(address)) {
      const hop = hops.pop();
      if (hop === undefined || isIP(hop) === 0) break;
      address = hop;
    }
    return address;
  }
}
