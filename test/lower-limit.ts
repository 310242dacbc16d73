// Lowers a limit of the program for some tests, which need much time and memory to reach the real one.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { runs } from "./seeds.ts";

/**
 * The limit is `few` during the tests of a file or of a `describe`, and `full` in `npm run test:long`.
 * `full` is what it is in the program. Returns the one of the tests.
 */
export function lowerLimit<Name extends string>(
  limits: { readonly [name in Name]: number },
  name: Name,
  few: number,
  full: number,
): number {
  const lowered = runs(few, full);
  const changed: Record<Name, number> = limits;
  before(() => {
    assert.equal(changed[name], full, `the limit ${name}`);
    changed[name] = lowered;
  });
  after(() => {
    changed[name] = full;
  });
  return lowered;
}
