// Parameters that are nearly ours, or another API's: which of ours was meant.

/** Every parameter of a list that is not a filter. A field of such a name needs an operator. */
export const listParameters = [
  "page",
  "limit",
  "sort",
  "fields",
  "q",
  "cursor",
  "total",
  "since",
] as const;
export type ListParameter = (typeof listParameters)[number];

/** What other APIs call it, in lower case and without punctuation. */
const foreign: Readonly<Record<string, string>> = {
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
  "since, or updatedAt[gte]": "updatedsince modifiedsince changedsince",
  "the name of the field itself": "filter filters where filterby",
};

const meanings = new Map(
  Object.entries(foreign).flatMap(([ours, names]) => names.split(" ").map((name) => [name, ours])),
);

/** These are as likely to be fields, and their values tell: a page is counted, an order is not. */
const isField = (name: string, value: unknown): boolean =>
  name === "order" && /^-?[\d.]+$/.test(String(value));

/** The parameter of ours that was meant by a name which is not one, as far as that can be told. */
export function suggestParameter(name: string, value?: unknown): string | undefined {
  const plain = name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();
  const isFiltered = /^filters?\[/i.test(name);
  const meant = isFiltered ? meanings.get("filter") : meanings.get(plain);
  if (meant !== undefined) return isField(plain, value) ? undefined : meant;
  return listParameters.find((ours) => isTypo(plain, ours));
}

/**
 * Whether it is the same word but for one slip of the keys. A slip leaves the first letter alone, and
 * in a short word it adds no new one: `age` and `port` are not slips of `page` and `sort`.
 */
function isTypo(word: string, ours: string): boolean {
  if (word === ours) return true;
  if (ours.length < 4 || word[0] !== ours[0] || Math.abs(word.length - ours.length) > 1)
    return false;
  if (word === `${ours}s`) return true;
  const start = sharedStart(word, ours);
  const [rest, oursRest] = [word.slice(start), ours.slice(start)];
  const isSwapped = rest[0] === oursRest[1] && rest[1] === oursRest[0];
  if (isSwapped && rest.slice(2) === oursRest.slice(2)) return true;
  if (rest === oursRest.slice(1)) return true;
  const isDoubled = rest[0] === word[start - 1];
  const isLong = ours.length > 4;
  if (rest.slice(1) === oursRest) return isDoubled || isLong;
  return isLong && rest.slice(1) === oursRest.slice(1);
}

function sharedStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
