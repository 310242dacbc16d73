// Suggests the right list parameter for a misspelled one or one of another API.

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

const lettersOf = (name: string): string => name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** Returns the parameter that an unknown name probably means, or undefined. */
export function suggestParameter(name: string, value?: unknown): string | undefined {
  const plain = lettersOf(name);
  const isFiltered = /^filters?\[/i.test(name);
  const meant = isFiltered ? meanings.get("filter") : meanings.get(plain);
  if (meant !== undefined) return isField(plain, value) ? undefined : meant;
  return listParameters.find((parameter) => isTypo(plain, parameter));
}

/**
 * Whether the word differs from the parameter by one typing error. The first letter must be right, and
 * in a short word no new letter may be added: `age` and `port` are not typing errors of `page` and `sort`.
 */
function isTypo(word: string, parameter: string): boolean {
  if (word === parameter) return true;
  if (
    parameter.length < 4 ||
    word[0] !== parameter[0] ||
    Math.abs(word.length - parameter.length) > 1
  )
    return false;
  if (word === `${parameter}s`) return true;
  const start = sharedStart(word, parameter);
  const [rest, parameterRest] = [word.slice(start), parameter.slice(start)];
  const isSwapped = rest[0] === parameterRest[1] && rest[1] === parameterRest[0];
  if (isSwapped && rest.slice(2) === parameterRest.slice(2)) return true;
  if (rest === parameterRest.slice(1)) return true;
  const isDoubled = rest[0] === word[start - 1];
  const isLong = parameter.length > 4;
  if (rest.slice(1) === parameterRest) return isDoubled || isLong;
  return isLong && rest.slice(1) === parameterRest.slice(1);
}

function sharedStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
