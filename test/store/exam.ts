// The exam of the store contract: what every engine must pass.

import { describe, it } from "node:test";
import { isLong } from "../seeds.ts";
import type { Candidate, Question } from "./exam/candidate.ts";
import { changes } from "./exam/changes.ts";
import { closing } from "./exam/closing.ts";
import { collections } from "./exam/collections.ts";
import { drops } from "./exam/drops.ts";
import { feeds } from "./exam/feeds.ts";
import { freshness } from "./exam/freshness.ts";
import { indexes } from "./exam/indexes.ts";
import { onces } from "./exam/once.ts";
import { orders } from "./exam/orders.ts";
import { owners } from "./exam/owners.ts";
import { parts } from "./exam/parts.ts";
import { queries } from "./exam/queries.ts";
import { rivals } from "./exam/rivals.ts";
import { searches } from "./exam/searches.ts";
import { sequences } from "./exam/sequences.ts";
import { slices } from "./exam/slices.ts";
import { tokens } from "./exam/tokens.ts";
import { uniques } from "./exam/uniques.ts";
import { units } from "./exam/units.ts";

export { type Candidate, candidateOf, fewCandidates } from "./exam/candidate.ts";

/** Runs all contract tests on an engine. */
export function exam(name: string, open: () => Promise<Candidate>): void {
  const question = questionOn(open);
  describe(`${name}: collections`, () => collections(question));
  describe(`${name}: once`, () => onces(question));
  describe(`${name}: slices`, () => slices(question));
  describe(`${name}: feeds`, () => feeds(question));
  describe(`${name}: queries`, () => queries(question));
  describe(`${name}: orders`, () => orders(question));
  describe(`${name}: indexes`, () => indexes(question));
  describe(`${name}: searches`, () => searches(question));
  describe(`${name}: unique fields`, () => uniques(question));
  describe(`${name}: owners`, () => owners(question));
  describe(`${name}: parts`, () => parts(question));
  describe(`${name}: drops`, () => drops(question));
  examCommits(name, open);
}

/**
 * Runs the contract tests on an engine whose commits go another way, such as through group commit: those
 * that depend on how changes travel, are ordered and become visible. `npm run test:long` runs all.
 */
export function examVariant(name: string, open: () => Promise<Candidate>): void {
  if (isLong) exam(name, open);
  else examCommits(name, open);
}

function examCommits(name: string, open: () => Promise<Candidate>): void {
  const question = questionOn(open);
  describe(`${name}: changes`, () => changes(question));
  describe(`${name}: units`, () => units(question));
  describe(`${name}: tokens`, () => tokens(question));
  describe(`${name}: what is read is never old`, () => freshness(question));
  describe(`${name}: many at once`, () => rivals(question));
  describe(`${name}: any sequence`, () => sequences(question));
  describe(`${name}: opening and closing`, () => closing(question));
}

function questionOn(open: () => Promise<Candidate>): Question {
  return (text, answer) => {
    it(text, async () => {
      const candidate = await open();
      try {
        await answer(candidate);
      } finally {
        await candidate.destroy();
      }
    });
  };
}
