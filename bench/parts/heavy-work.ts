// Work that takes a server long, each kind as one client would ask for it.

import { bearer, define, linesOf, ndjsonHeaders, totalOf } from "../data/fill.ts";
import { member, memberDefinition, pageLimit } from "../data/records.ts";
import { fewMembers } from "../data/stores.ts";
import type { Ask } from "../load/load.ts";
import { get } from "../load/scenarios.ts";
import type { Sizes } from "./setting.ts";

export const heavyTitles = {
  search: "Search `w*`, which all match",
  filter: "Filter without an index",
  sum: "Sum over all",
  sort: "`sort=-score`, the last page",
  export: "Export as NDJSON",
  import: "Import of NDJSON, 20,000 lines each",
  list: "List of 1,000 × 1 MB",
  largest: "The largest page of 1 MB each",
  largeExport: "Export of 1,000 × 1 MB",
  build: "Building an index",
} as const;

export type Heavy = keyof typeof heavyTitles;
export const heavyNames = Object.keys(heavyTitles) as readonly Heavy[];

/** Which store the work needs. */
export const isOnLarge = (heavy: Heavy): boolean =>
  heavy === "list" || heavy === "largest" || heavy === "largeExport";

/** Each turn is a new request, because the response to an earlier one is still at hand. */
export const sumPath = (turn: number, more = ""): string =>
  `/members?aggregate=${more}sum(age)&limit=${1 + turn}`;

/** As many of a megabyte as the limit of a page allows. */
const largestPage = 30;

/** The request; none for the build of an index, which is a change of the definition. */
export async function heavyAsk(
  heavy: Heavy,
  origin: string,
  secret: string,
  sizes: Sizes,
): Promise<Ask | undefined> {
  const headers = bearer(secret);
  const ndjson = { ...headers, accept: "application/x-ndjson" };
  switch (heavy) {
    case "search":
      return get(headers, `/members?q=w*&limit=${pageLimit}`);
    case "filter":
      return get(headers, `/members?city=Nowhere&limit=${pageLimit}`);
    case "sum":
      return get(headers, ...Array.from({ length: 500 }, (_, turn) => sumPath(turn)));
    case "sort": {
      const last = Math.ceil((await totalOf(origin, headers, "members")) / pageLimit);
      return get(headers, `/members?sort=-score&page=${last}&limit=${pageLimit}`);
    }
    case "export":
      return get(ndjson, "/members");
    case "import":
      await define(origin, headers, "imported", memberDefinition);
      return {
        method: "POST",
        headers: ndjsonHeaders(headers),
        body: linesOf((number) => member(number, fewMembers), 1, 20_000),
        paths: ["/imported"],
        status: 200,
      };
    case "list":
      // A page of more bytes than the limit is refused, with the limit that would fit.
      return {
        ...get(headers, "/large?limit=1000"),
        status: sizes.large > largestPage ? 400 : 200,
      };
    case "largest":
      return get(headers, `/large?limit=${largestPage}`);
    case "largeExport":
      return get(ndjson, "/large");
    case "build":
      return undefined;
  }
}
