// fast-check as the tests use it: a failure names its seed, RESTANTE_TEST_SEED replays it, and shrinking ends in time.

import fc from "fast-check";
import { givenSeed, isLong } from "./seeds.ts";

fc.configureGlobal({
  // Before the time limit of a test, so that the failure that was found is shown.
  interruptAfterTimeLimit: isLong ? 3_000_000 : 90_000,
  markInterruptAsFailure: true,
  ...(givenSeed !== undefined && { seed: givenSeed }),
});

export default fc;
