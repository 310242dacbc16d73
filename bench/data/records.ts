// The resources that are measured: small ones with indexed, searchable and plain fields, and large ones.

/** The fields of a person in the comparison of servers; POST sends the same shape. */
export const person = (number: number): { readonly name: string; readonly email: string } => ({
  name: `Person ${number}`,
  email: `person${number}@example.org`,
});

export const pageLimit = 20;

/** How many members have the same team, at every size of the collection. */
export const teamSize = 100;

/** How many members have the same word, at every size: three words each, from a third as many. */
export const wordShare = 300;

/** Members have two indexed fields, a searchable one, and plain ones that only a scan can compare. */
export const memberDefinition = {
  schema: {
    type: "object",
    properties: {
      name: { type: "string" },
      email: { type: "string" },
      team: { type: "integer" },
      score: { type: "integer" },
      age: { type: "integer" },
      city: { type: "string" },
      text: { type: "string" },
    },
  },
  indexed: ["team", "score"] as readonly string[],
  searchable: ["text"],
};

/** A member of a collection of `count`. Every word begins with w. */
export function member(number: number, count: number): object {
  return {
    ...person(number),
    team: number % teamsOf(count),
    score: (number * 48_271) % 1_000_003,
    age: number % 97,
    city: `City ${number % 991}`,
    text: [1, 7_919, 104_729].map((factor) => wordOf(number * factor, count)).join(" "),
  };
}

export const teamsOf = (count: number): number => Math.ceil(count / teamSize);
export const wordOf = (number: number, count: number): string =>
  `w${number % Math.ceil((count * 3) / wordShare)}`;

const largeBytes = 1_000_000;
const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Letters at random, the same in every run. They do not compress well, so a store has to write them all. */
function randomText(): string {
  const bytes = Buffer.alloc(largeBytes);
  let state = 1;
  for (let index = 0; index < largeBytes; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = alphabet.charCodeAt((state >>> 24) % alphabet.length);
  }
  return bytes.toString("latin1");
}

let text: string | undefined;

/** A resource of a megabyte; no two are the same. */
export function large(number: number): object {
  text ??= randomText();
  const start = (number * 997) % largeBytes;
  return { number, content: text.slice(start) + text.slice(0, start) };
}
