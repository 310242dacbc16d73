// fast-check as the tests use it: a failure names its seed, RESTANTE_TEST_SEED replays it, and shrinking ends in time.

import fc from "fast-check";
import { givenSeed, isLong } from "./seeds.ts";

fc.configureGlobal({
  // Before the time limit of a test, so that the failure that was found is shown.
  interruptAfterTimeLimit: isLong ? 3_000_000 : 540_000,
  markInterruptAsFailure: true,
  ...(givenSeed !== undefined && { seed: givenSeed }),
});

/** The lone halves of a pair, which are no characters. */
const halves = { first: 0xd800, count: 0x800 };

/** Any character. The one of fast-check makes a table of all of them, which takes a second. */
const character = fc.nat(0x10ffff - halves.count).map(
  (number) => String.fromCodePoint(number < halves.first ? number : number + halves.count),
  (text) => {
    const code = typeof text === "string" && text !== "" ? (text.codePointAt(0) ?? -1) : -1;
    const isOne = code >= 0 && String.fromCodePoint(code) === text && text.isWellFormed();
    if (!isOne) throw new Error("not one character");
    return code < halves.first ? code : code - halves.count;
  },
);

/** Texts of any characters. */
export const anyText = (limits: fc.StringConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...limits, unit: character });

export default fc;
