// Gathers what is asked for in one turn of the event loop into one question.

import { Outage } from "../store.ts";

/** Answers for the keys, in their order. */
export type Ask<K, V> = (keys: readonly K[]) => Promise<readonly V[]>;

interface Call<K, V> {
  readonly key: K;
  readonly resolve: (value: V) => void;
  readonly reject: (reason: unknown) => void;
}

/** A question stays small enough that its first answers do not wait long for its last. */
const maxKeys = 500;
/** More than this waiting, and new ones are turned away while the wait is still short. */
const maxWaiting = 10_000;

/**
 * While as many questions are under way as there are connections, the next one waits and grows. So a
 * few callers are answered at once, and many cost little more than a few.
 */
export class BatchLoader<K, V> {
  readonly #ask: Ask<K, V>;
  readonly #maxUnderWay: number;
  #calls: Call<K, V>[] = [];
  #underWay = 0;
  #isDue = false;

  constructor(ask: Ask<K, V>, maxUnderWay: number) {
    this.#ask = ask;
    this.#maxUnderWay = maxUnderWay;
  }

  get(key: K): Promise<V> {
    return new Promise((resolve, reject) => {
      if (this.#calls.length >= maxWaiting)
        return reject(new Outage("busy", "too many reads are waiting"));
      this.#calls.push({ key, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isDue || this.#calls.length === 0 || this.#underWay === this.#maxUnderWay) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      void this.#send(this.#calls.splice(0, maxKeys));
      this.#schedule();
    });
  }

  async #send(calls: readonly Call<K, V>[]): Promise<void> {
    this.#underWay++;
    try {
      const values = await this.#ask(calls.map(({ key }) => key));
      for (const [index, call] of calls.entries()) call.resolve(values[index] as V);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
    this.#underWay--;
    this.#schedule();
  }
}
