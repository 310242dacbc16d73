// What the actions of the tests tell each other: beginning with `_`, so no action itself.

/** What was seen after the answer. */
export const seen: string[] = [];
