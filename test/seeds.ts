// Counts and seeds of random tests: few in `npm test`, all in `npm run test:long`, printed and replayable.

/** Whether `npm run test:long` runs. */
export const isLong = process.env.RESTANTE_TEST_LONG === "1";

/** How often a random test runs: `few` in `npm test`, `full` in `npm run test:long`. */
export const runs = (few: number, full: number): number => (isLong ? full : few);

/** The time that a test may take: `ms` in `npm test`, an hour with the full counts. */
export const within = (ms: number): { readonly timeout: number } => ({
  timeout: runs(ms, 3_600_000),
});

const given = Number.parseInt(process.env.RESTANTE_TEST_SEED ?? "", 10);
/** The seed of the run to repeat. */
export const givenSeed = Number.isNaN(given) ? undefined : given;

/**
 * A new seed for a random test, printed with the test's name. `RESTANTE_TEST_SEED=n` replays a run. With
 * `short`, `npm test` always has that one.
 */
export function newSeed(name: string, short?: number): number {
  const fixed = givenSeed ?? (isLong ? undefined : short);
  const seed = fixed ?? Math.floor(Math.random() * 0x7fffffff);
  console.log(`${name}: RESTANTE_TEST_SEED=${seed}`);
  return seed;
}

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
