// Collects the metrics of worker processes. What a worker has counted stays when it exits.

import { combineMetrics, countsIn, type MetricFamily } from "../lib/metrics.ts";

/** A worker that does not answer in this time is shown as it was before. */
const answerMs = 1_000;

interface WorkerFamilies {
  families: readonly MetricFamily[];
  onAnswer: (() => void)[];
}

export class WorkerMetrics<Worker> {
  readonly #own: () => readonly MetricFamily[];
  readonly #ask: (worker: Worker) => void;
  readonly #workers = new Map<Worker, WorkerFamilies>();
  #ended: readonly MetricFamily[] = [];

  /** `own` reads those of this process; `ask` makes a worker send its own. */
  constructor(own: () => readonly MetricFamily[], ask: (worker: Worker) => void) {
    this.#own = own;
    this.#ask = ask;
  }

  add(worker: Worker): void {
    this.#workers.set(worker, { families: [], onAnswer: [] });
  }

  /** Called with what a worker sends when it is asked, and now and then. */
  receive(worker: Worker, families: readonly MetricFamily[]): void {
    const known = this.#workers.get(worker);
    if (known === undefined) return;
    known.families = families;
    for (const resolve of known.onAnswer.splice(0)) resolve();
  }

  remove(worker: Worker): void {
    const known = this.#workers.get(worker);
    if (known === undefined) return;
    this.#workers.delete(worker);
    this.#ended = combineMetrics([this.#ended, countsIn(known.families)]);
    for (const resolve of known.onAnswer) resolve();
  }

  /** Returns the sums of all processes. */
  async collect(): Promise<readonly MetricFamily[]> {
    await Promise.all([...this.#workers].map(([worker, known]) => this.#renew(worker, known)));
    const families = [...this.#workers.values()].map((known) => known.families);
    return combineMetrics([this.#own(), ...families, this.#ended]);
  }

  #renew(worker: Worker, known: WorkerFamilies): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, answerMs);
      known.onAnswer.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.#ask(worker);
    });
  }
}
