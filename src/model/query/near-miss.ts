// Suggests the right list parameter for a misspelled one or one of another API.

import { isTypo, lettersOf } from "../../lib/typo.ts";

/** All list parameters that are not filters. A filter on a field of such a name needs an operator. */
export const listParameters = [
  "page",
  "limit",
  "sort",
  "fields",
  "q",
  "cursor",
  "total",
  "since",
  "where",
  "expand",
  "aggregate",
  "by",
  "timezone",
] as const;
export type ListParameter = (typeof listParameters)[number];

/** Says what to send instead of a misspelled parameter; undefined for other names. */
export function explainNearMiss(name: string, value: unknown): string | undefined {
  const intended = suggestParameter(name, value);
  return (
    intended &&
    `there is no parameter "${name}"; use ${intended}. For a field of this name, write ${name}[eq]`
  );
}

/** The names in other APIs, in lower case and without punctuation. */
const otherNames: Readonly<Record<string, string>> = {
  limit: "perpage pagesize pagelimit itemsperpage resultsperpage maxresults maxitems take",
  page: "pagenumber pageno pagenum pageindex currentpage",
  "page, with limit, or cursor": "offset skip startindex startat pageoffset",
  sort: "orderby sortby sortorder sortdir sortdirection ordering sorting",
  "sort, with - before a field for the reverse": "order",
  q: "search query searchterm searchquery fulltext",
  fields: "select projection columns onlyfields fieldset",
  cursor:
    "pagetoken nextpagetoken nexttoken nextcursor pagecursor pageafter startingafter continuationtoken",
  total: "includetotal withtotal totalcount includecount",
  expand: "populate",
  by: "groupby",
  "since, or updatedAt[gte]": "updatedsince modifiedsince changedsince",
  "the name of the field itself, or where": "filter filters filterby",
};

const meanings = new Map(
  Object.entries(otherNames).flatMap(([parameter, names]) =>
    names.split(" ").map((name) => [name, parameter]),
  ),
);

/** `order` with a number is more likely a filter on a field than a sort order. */
const isField = (name: string, value: unknown): boolean =>
  name === "order" && /^-?[\d.]+$/.test(String(value));

/** Returns the parameter that an unknown name probably means, or undefined. */
export function suggestParameter(name: string, value?: unknown): string | undefined {
  const plain = lettersOf(name);
  const isFiltered = /^filters?\[/i.test(name);
  const meant = isFiltered ? meanings.get("filter") : meanings.get(plain);
  if (meant !== undefined) return isField(plain, value) ? undefined : meant;
  return listParameters.find((parameter) => isTypo(plain, parameter));
}
