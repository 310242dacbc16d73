// The messages about a collection that has lost one of its two rows: the one with its counts, or with its name.

import type { Concern } from "./transfer.ts";

const advice = "Restore the collection from a backup.";

export const withoutHead = (name: string): Concern => ({
  isError: true,
  message: `The collection ${name} has lost the row with its counts, so that nothing of it can be read.`,
  advice,
});

export const withoutName = (part: number): Concern => ({
  isError: true,
  message: `A collection has lost its name and its definition. Its rows are in the part ${part}.`,
  advice,
});
