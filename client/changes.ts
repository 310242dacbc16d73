// The change feed: what was written and removed since a position.

import { listRequest, type Selection } from "./query.ts";
import { type RequestOptions, type Sender, sleep } from "./send.ts";
import { remember } from "./tags.ts";

export interface ChangesQuery<T> extends Pick<Selection<T>, "where" | keyof RequestOptions> {
  /** A position from an earlier page; from the beginning, if it is left out. */
  readonly since?: string;
  readonly limit?: number;
}

export interface ChangePage<T> {
  readonly changes: readonly Change<T>[];
  /** Store it with your copy, and ask with it again. */
  readonly next: string;
  readonly more: boolean;
}

/** A resource in its newest state, or the id of one that is gone. */
export type Change<T> = { readonly resource: T } | { readonly removed: string };

interface FeedAnswer {
  readonly changes: readonly { readonly resource?: object; readonly removed?: string }[];
  readonly next: string;
  readonly more: boolean;
}

export async function readChanges<T>(
  sender: Sender,
  name: string,
  { since = "0", signal, headers, ...rest }: ChangesQuery<T>,
): Promise<ChangePage<T>> {
  const query = { limit: 1000, ...rest, since, fields: ["*", "_etag"] };
  const request = listRequest(name, query, { signal, headers });
  return sender.read(request, async (response) => pageOf<T>((await response.json()) as FeedAnswer));
}

const pageOf = <T>({ changes, next, more }: FeedAnswer): ChangePage<T> => ({
  ...{ next: `${next}`, more },
  changes: changes.map(({ resource, removed = "" }) =>
    resource ? { resource: remember<T>(resource) } : { removed },
  ),
});

/** Empty pages are left out, but for the first: it says that everything is there. */
export async function* follow<T>(
  sender: Sender,
  name: string,
  { everyMs = 2_000, ...query }: ChangesQuery<T> & { readonly everyMs?: number },
): AsyncGenerator<ChangePage<T>, void> {
  let { since } = query;
  for (let isFirst = true; !query.signal?.aborted; isFirst = false) {
    const asked = { ...query, ...(since && { since }) };
    const page = await readChanges<T>(sender, name, asked).catch((error: unknown) => {
      if (!query.signal?.aborted) throw error;
    });
    if (!page) return;
    since = page.next;
    if (isFirst || page.changes.length > 0) yield page;
    if (!page.more) await sleep(everyMs, query.signal).catch(() => undefined);
  }
}
