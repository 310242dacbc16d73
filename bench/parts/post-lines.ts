// Sends many resources in one request, one request after another.

import type { Load } from "../load/load.ts";

export const linesAtOnce = 20_000;

/** What is not a 201 makes the figure invalid. */
export async function postLines(
  address: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  seconds: number,
): Promise<Load> {
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  let completed = 0;
  let fault: string | undefined;
  do {
    const response = await fetch(address, { method: "POST", headers, body });
    const made = (await response.text()).split('"status":201').length - 1;
    if (made !== linesAtOnce) fault = `${made} of ${linesAtOnce} lines were created`;
    completed += made;
  } while (elapsed() < seconds);
  const requestsPerSecond = completed / elapsed();
  return { completed, requestsPerSecond, p50Ms: 0, p99Ms: 0, maxMs: 0, fault };
}
