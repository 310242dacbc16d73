// The hosts that this server answers for (RFC 9110 §7.4): those of the base URL and of a setting.

import { isHost } from "../request-target.ts";

interface Authority {
  /** In lower case, an IPv6 address in brackets and in its shortest form. */
  readonly name: string;
  readonly port: number | undefined;
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

export class AllowedHosts {
  /** The Host that was allowed last: nearly every request has the same. */
  lastAllowed = "";
  readonly #isOpen: boolean;
  /** For each name the ports that may follow it; undefined when any port may. */
  readonly #ports = new Map<string, Set<number | undefined> | undefined>();

  /** Without a base URL and a list every host is allowed, and so it is with `*` in the list. */
  constructor(baseUrl: string | undefined, listed: readonly string[]) {
    this.#isOpen = (baseUrl === undefined && listed.length === 0) || listed.includes("*");
    if (baseUrl !== undefined) this.#addBase(new URL(baseUrl));
    for (const text of listed) {
      const { name, port } = readAuthority(text) ?? { name: "", port: undefined };
      if (port === undefined) this.#ports.set(name, undefined);
      else this.#add(name, Object.values(defaultPorts).includes(port) ? [port, undefined] : [port]);
    }
  }

  /** Many proxies send the name of a public URL without its port. */
  #addBase({ hostname, port, protocol }: URL): void {
    const name = withoutDot(hostname);
    const ports = [port === "" ? defaultPorts[protocol] : Number(port), undefined];
    for (const each of loopbackNames.includes(name) ? loopbackNames : [name])
      this.#add(each, ports);
  }

  #add(name: string, ports: readonly (number | undefined)[]): void {
    const before = this.#ports.get(name);
    if (before === undefined && this.#ports.has(name)) return;
    this.#ports.set(name, new Set([...(before ?? []), ...ports]));
  }

  /** Of a valid Host. */
  allows(host: string): boolean {
    if (this.#isOpen) return true;
    const authority = readAuthority(host);
    if (authority === undefined || !this.#ports.has(authority.name)) return false;
    return this.#ports.get(authority.name)?.has(authority.port) ?? true;
  }

  /** Of the host that the nearest proxy was asked for. */
  allowsForwarded(field: string | null): boolean {
    const host = field?.split(",").at(-1)?.trim() ?? "";
    return isHost(host) && this.allows(host);
  }
}

function readAuthority(text: string): Authority | undefined {
  const url = URL.parse(`http://${text}`);
  if (url === null) return undefined;
  const [, port] = /:(\d+)$/.exec(text) ?? [];
  return { name: withoutDot(url.hostname), port: port === undefined ? undefined : Number(port) };
}

/** `example.org.` and `example.org` are one name. */
const withoutDot = (name: string): string => name.replace(/\.$/, "");
