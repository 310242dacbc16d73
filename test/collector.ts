// A collector of traces that answers as the test says, and keeps what it gets.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  readonly status: { readonly code?: number };
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** The header fields and the text of each request. */
  readonly requests: {
    readonly headers: Readonly<Record<string, unknown>>;
    readonly text: string;
  }[];
  /** The status of the next answers; undefined for none. */
  status: number | undefined;
  /** Resolves when this holds for the spans so far. */
  until(isThere: (spans: readonly CollectedSpan[]) => boolean): Promise<void>;
  close(): void;
}

export async function startCollector(): Promise<Collector> {
  const listeners = new Set<() => void>();
  const server = createServer(async (incoming, outgoing) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    collector.requests.push({ headers: incoming.headers, text });
    if (collector.status === undefined) return;
    if (collector.status === 200)
      for (const { scopeSpans } of JSON.parse(text).resourceSpans)
        for (const { spans } of scopeSpans) collector.spans.push(...spans);
    outgoing.writeHead(collector.status).end("{}");
    for (const listener of listeners) listener();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    requests: [],
    status: 200,
    until: (isThere) =>
      new Promise((resolve) => {
        const look = () => {
          if (!isThere(collector.spans)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return collector;
}

/** The attributes of a span by name. */
export const attributesOf = ({ attributes }: CollectedSpan): Record<string, string | undefined> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  );
