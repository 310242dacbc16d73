// Writes JSON values in unusual ways: with escapes that are not needed, numbers in other notations, and inner objects with the same names.

/** The text of a value. `next` returns numbers in [0, 1). */
export function spelled(value: unknown, next: () => number): string {
  if (typeof value === "string") return spelledText(value, next() < 0.3 ? next : () => 1);
  if (typeof value === "number") return spelledNumber(value, next());
  if (Array.isArray(value)) return `[${value.map((each) => spelled(each, next)).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(
      ([name, each]) =>
        `${spelledText(name, next() < 0.1 ? next : () => 1)}:${spelled(each, next)}`,
    );
  return `{${members.join()}}`;
}

function spelledText(text: string, next: () => number): string {
  const units = Array.from(text, (character) => {
    if (next() < 0.5) return JSON.stringify(character).slice(1, -1);
    return Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join("");
  });
  return next() === 1 ? JSON.stringify(text) : `"${units.join("")}"`;
}

function spelledNumber(number: number, chance: number): string {
  const literal = JSON.stringify(number);
  if (chance < 0.6) return literal;
  if (!literal.includes("e")) {
    if (chance < 0.7) return `${literal}e0`;
    if (chance < 0.8) return literal.includes(".") ? `${literal}0` : `${literal}.0`;
    if (chance < 0.9) return `${literal}E+0`;
  }
  return number === 0 ? "-0" : literal;
}
