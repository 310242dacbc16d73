// Chooses the number of a new part. Every row of data belongs to a part; a collection has exactly one.

import { randomBytes } from "node:crypto";

const partBits = 52;

/** Returns a random number from 1 to 2^52 - 1, so that nodes choose parts without asking each other. */
export function newPart(): number {
  const number = Number(randomBytes(8).readBigUInt64BE() >> BigInt(64 - partBits));
  return number === 0 ? newPart() : number;
}
