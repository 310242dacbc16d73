// Who used the processors while a server was loaded.

import type { Loader } from "../load/load.ts";
import { endedSeconds, type Usage } from "./processors.ts";

/** Processor time in seconds, since the processes began. */
export interface Meters {
  server(origin: string): number;
  database(): number;
}

/** The loader with a reading of the meters before and after each load. */
export const metered =
  (loader: Loader, meters: Meters): Loader =>
  async (origin, ...job) => {
    const before = readMeters(meters, origin);
    const load = await loader(origin, ...job);
    return { ...load, usage: between(before, readMeters(meters, origin)) };
  };

const readMeters = (meters: Meters, origin: string): Usage => ({
  server: meters.server(origin),
  database: meters.database(),
  loader: endedSeconds(),
  elapsed: performance.now() / 1000,
});

const between = (before: Usage, after: Usage): Usage => ({
  server: after.server - before.server,
  database: after.database - before.database,
  loader: after.loader - before.loader,
  elapsed: after.elapsed - before.elapsed,
});
