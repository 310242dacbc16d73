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
  core: "No request, but a program that uses one core",
} as const;

export type Heavy = keyof typeof heavyTitles;
export const heavyNames = Object.keys(heavyTitles) as readonly Heavy[];
/** Without the program, which shows what the machine does to a GET beside any work. */
export const askedNames = heavyNames.filter((heavy) => heavy !== "core");

/** Which store the work needs. */
export const isOnLarge = (heavy: Heavy): boolean =>
  heavy === "list" || heavy === "largest" || heavy === "largeExport";

/** Each turn is another request, because a server may still have the response to an earlier one. */
const turns = 1_000;
const everyTurn = (pathOf: (turn: number) => string): readonly string[] =>
  Array.from({ length: turns }, (_, turn) => pathOf(turn));

export const sumPath = (turn: number): string =>
  `/members?aggregate=count,sum(age)&limit=${1 + turn}`;

/** As many of a megabyte as the limit of a page allows. */
const largestPage = 30;

/** The request; none for the build of an index, which is a change of the definition, and for a program. */
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
      return get(
        headers,
        ...everyTurn((turn) => `/members?q=w*&page=${1 + turn}&limit=${pageLimit}`),
      );
    case "filter":
      return get(
        headers,
        ...everyTurn((turn) => `/members?city=Nowhere${turn}&limit=${pageLimit}`),
      );
    case "sum":
      return get(headers, ...everyTurn(sumPath));
    case "sort": {
      const last = Math.ceil((await totalOf(origin, headers, "members")) / pageLimit);
      const pageAt = (turn: number) => Math.max(1, last - turn);
      return get(
        headers,
        ...everyTurn((turn) => `/members?sort=-score&page=${pageAt(turn)}&limit=${pageLimit}`),
      );
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
    case "core":
      return undefined;
  }
}
