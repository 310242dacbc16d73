// Which peers are believed when they speak for others (X-Forwarded-*).

import { BlockList, isIP } from "node:net";

export class Proxies {
  readonly #trusted = new BlockList();
  /** Nobody is trusted: nothing has to be asked per request. */
  readonly none: boolean;

  /** Addresses and CIDR ranges, already validated. */
  constructor(trusted: readonly string[]) {
    this.none = trusted.length === 0;
    for (const entry of trusted) {
      const [address = "", bits] = entry.split("/");
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  trusts(address: string): boolean {
    const plain = address.startsWith("::ffff:") ? address.slice(7) : address;
    const family = isIP(plain);
    return family !== 0 && this.#trusted.check(plain, family === 6 ? "ipv6" : "ipv4");
  }

  /** The right-most hop that is not one of ours (RFC 7239 §8.1: the rest can be made up). */
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
