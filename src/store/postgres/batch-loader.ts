// Combines the reads of one turn of the event loop into one statement.

import { Outage } from "../../model/outage.ts";

/** Resolves with the values of the keys, in the same order. */
export type Load<K, V> = (keys: readonly K[]) => Promise<readonly V[]>;

interface LoaderCall<K, V> {
  readonly key: K;
  readonly resolve: (value: V) => void;
  readonly reject: (reason: unknown) => void;
}

/** Limits a statement, so that its first results do not wait long for the last. */
const defaultMaxKeys = 500;
/** When more reads than this are waiting, new ones are rejected, so that the wait stays short. */
const maxWaiting = 10_000;

/**
 * When as many statements are in flight as there are connections, the next one waits and collects more
 * keys. So a few callers are answered at once, and many cost little more than a few.
 */
export class BatchLoader<K, V> {
  readonly #load: Load<K, V>;
  readonly #maxInFlight: number;
  readonly #maxKeys: number;
  #calls: LoaderCall<K, V>[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(load: Load<K, V>, maxInFlight: number, maxKeys = defaultMaxKeys) {
    this.#load = load;
    this.#maxInFlight = maxInFlight;
    this.#maxKeys = maxKeys;
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
    if (this.#isScheduled || this.#calls.length === 0 || this.#inFlight === this.#maxInFlight)
      return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#send(this.#calls.splice(0, this.#maxKeys));
      this.#schedule();
    });
  }

  async #send(calls: readonly LoaderCall<K, V>[]): Promise<void> {
    this.#inFlight++;
    try {
      const values = await this.#load(calls.map(({ key }) => key));
      for (const [index, call] of calls.entries()) call.resolve(values[index] as V);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
    this.#inFlight--;
    this.#schedule();
  }
}
