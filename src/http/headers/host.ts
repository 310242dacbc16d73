// Decides which hosts this server serves (RFC 9110 §7.4), from the base URL and a setting.

interface Authority {
  /** In lower case, an IPv6 address in brackets and in its shortest form. */
  readonly name: string;
  readonly port: number | undefined;
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

export class AllowedHosts {
  /** The last allowed Host, as a shortcut: nearly every request has the same. */
  lastAllowed = "";
  readonly #allowsAll: boolean;
  /** The allowed ports of each name; undefined for any port. */
  readonly #ports = new Map<string, Set<number | undefined> | undefined>();

  /** Every host is allowed without a base URL and a list, or with `*` in the list. */
  constructor(baseUrl: string | undefined, listed: readonly string[]) {
    this.#allowsAll = (baseUrl === undefined && listed.length === 0) || listed.includes("*");
    if (baseUrl !== undefined) this.#addBase(new URL(baseUrl));
    for (const text of listed) {
      const { name, port } = readAuthority(text) ?? { name: "", port: undefined };
      if (port === undefined) this.#ports.set(name, undefined);
      else this.#add(name, Object.values(defaultPorts).includes(port) ? [port, undefined] : [port]);
    }
  }

  /** Many proxies send the public host name without its port. */
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

  /** Returns whether a valid Host is allowed. */
  allows(host: string): boolean {
    if (this.#allowsAll) return true;
    const authority = readAuthority(host);
    if (authority === undefined || !this.#ports.has(authority.name)) return false;
    return this.#ports.get(authority.name)?.has(authority.port) ?? true;
  }

  /** Returns whether the last X-Forwarded-Host is allowed. */
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

/** `example.org.` and `example.org` are the same name. */
const withoutDot = (name: string): string => name.replace(/\.$/, "");

const hostShape =
  /^(?:\[[0-9a-fA-F:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9a-fA-F]{2})+)(?::(\d{0,5}))?$/;

/** Returns whether it is one host with a valid port (RFC 9112 §3.2). Two Host lines arrive joined by a comma. */
export function isHost(host: string): boolean {
  const match = hostShape.exec(host);
  return match !== null && Number(match[1] ?? 0) <= 65535;
}
