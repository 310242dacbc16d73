// Finds resources for the palette, in the collections that can be searched.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { queryText } from "../api/query.ts";
import type { Page, Resource } from "../api/types.ts";
import { searchOf } from "../grid/view.ts";
import { collections } from "../state/collections.ts";
import type { Command } from "../state/commands.ts";
import { goTo, linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/title.ts";

/** A resource, and the collection that has it. */
export interface Hit extends Command {
  readonly place: string;
}

const restMs = 200;
const shortest = 2;
const hitsInEach = 4;
const mostCollections = 8;

export function useHits(text: string): readonly Hit[] {
  const [hits, setHits] = useState<readonly Hit[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const q = text.trim().length < shortest ? "" : searchOf(text);
    const timer = setTimeout(() => void findAll(q, abort.signal).then(setHits), restMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return hits;
}

async function findAll(q: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (q === "") return [];
  const places = (collections.peek() ?? [])
    .filter(({ definition }) => (definition.searchable ?? []).length > 0)
    .slice(0, mostCollections);
  // A collection that does not answer has nothing to show.
  const found = await Promise.allSettled(places.map(({ name }) => findIn(name, q, signal)));
  return found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

async function findIn(name: string, q: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const params = new URLSearchParams({ q, limit: String(hitsInEach), total: "none" });
  const { data } = await get<Page<Resource>>(`/${name}?${queryText(params)}`, signal);
  return data.map((row) => ({
    ...{ label: titleOf(row), place: name },
    run: () => goTo(linkTo(resourcePath(name, row.id))),
  }));
}
