// Recognizes typing errors in names.

/** The letters and digits of a name, in lower case. */
export const lettersOf = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/**
 * Whether the word differs from another by one typing error. The first letter must be right, and
 * in a short word no new letter may be added: `age` and `port` are not typing errors of `page` and `sort`.
 */
export function isTypo(word: string, other: string): boolean {
  if (word === other) return true;
  if (other.length < 4 || word[0] !== other[0] || Math.abs(word.length - other.length) > 1)
    return false;
  if (word === `${other}s`) return true;
  const start = sharedStart(word, other);
  const [rest, otherRest] = [word.slice(start), other.slice(start)];
  const isSwapped = rest[0] === otherRest[1] && rest[1] === otherRest[0];
  if (isSwapped && rest.slice(2) === otherRest.slice(2)) return true;
  if (rest === otherRest.slice(1)) return true;
  const isDoubled = rest[0] === word[start - 1];
  const isLong = other.length > 4;
  if (rest.slice(1) === otherRest) return isDoubled || isLong;
  return isLong && rest.slice(1) === otherRest.slice(1);
}

function sharedStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
