// The exam of the store contract: what every engine must pass.

import { describe, it } from "node:test";
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

export function exam(name: string, open: () => Promise<Candidate>): void {
  const question: Question = (text, answer) => {
    it(text, { timeout: 60_000 }, async () => {
      const candidate = await open();
      try {
        await answer(candidate);
      } finally {
        await candidate.destroy();
      }
    });
  };
  describe(`${name}: collections`, () => collections(question));
  describe(`${name}: changes`, () => changes(question));
  describe(`${name}: units`, () => units(question));
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
  describe(`${name}: tokens`, () => tokens(question));
  describe(`${name}: what is read is never old`, () => freshness(question));
  describe(`${name}: many at once`, () => rivals(question));
  describe(`${name}: any sequence`, () => sequences(question));
  describe(`${name}: opening and closing`, () => closing(question));
}
