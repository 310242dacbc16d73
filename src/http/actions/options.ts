// Checks the options that an action passes: one that is misspelt or has no value would let a write pass unconditionally.

/** Throws a TypeError that names an option that does not exist, or is not a string. */
export function checkOptions(options: object, names: readonly string[]): void {
  if (Object.prototype.toString.call(options) !== "[object Object]")
    throw new TypeError(`the options must be an object with ${names.join(" or ")}`);
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name))
      throw new TypeError(`there is no option ${name}; the options are: ${names.join(", ")}`);
    if (typeof value !== "string")
      throw new TypeError(`${name} must be a string, not ${value === null ? null : typeof value}`);
  }
}

/** Throws a TypeError that names a member without a value, because JSON leaves it out. */
export function rejectUndefined(value: unknown, path: string): void {
  if (value === undefined) throw new TypeError(`${path} is undefined`);
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) rejectUndefined(member, `${path}.${name}`);
}
