// What a client knows of a resource with files when some of its requests have no known end.

import assert from "node:assert/strict";

/** The hash of each file by its name in the URL, and the step that wrote the fields last. */
export interface State {
  readonly step: string | undefined;
  readonly files: Readonly<Record<string, string>>;
}

/** A resource that does not exist is null. */
export type Known = State | null;

/** What a request makes of a state; undefined when it is rejected there. */
export type Effect = (state: Known) => Known | undefined;

/** Equal states have equal texts. */
export const textOf = (state: Known): string =>
  state === null
    ? "none"
    : JSON.stringify([
        state.step,
        Object.entries(state.files).sort(([a], [b]) => (a < b ? -1 : 1)),
      ]);

/** Each request has a precondition, so one that ends late counts only in the state that it was made for. */
export class PossibleStates {
  #states = new Map<string, Known>([["none", null]]);
  #pending: Effect[] = [];

  /** The request has begun, and nobody knows whether it has been carried out. */
  begin(effect: Effect): void {
    this.#pending.push(effect);
    this.#reach();
  }

  /** Nothing will be carried out any more. */
  freeze(): void {
    this.#pending = [];
  }

  acknowledge(effect: Effect): void {
    this.#replace([...this.#states.values()].map(effect), "it was acknowledged");
  }

  reject(effect: Effect): void {
    const kept = [...this.#states.values()].filter((state) => effect(state) === undefined);
    this.#replace(kept, "it was rejected");
  }

  observe(seen: Known): void {
    const isPossible = this.#states.has(textOf(seen));
    assert.ok(isPossible, `${textOf(seen)} is none of ${[...this.#states.keys()].join(" ")}`);
    this.#replace([seen], "it was seen");
  }

  #replace(states: readonly (Known | undefined)[], why: string): void {
    const possible = states.filter((state) => state !== undefined);
    assert.ok(possible.length > 0, `${why}, but not by ${[...this.#states.keys()].join(" ")}`);
    this.#states = new Map(possible.map((state) => [textOf(state), state]));
    this.#reach();
  }

  /** Adds what the pending requests can make of the states. */
  #reach(): void {
    for (const state of this.#states.values())
      for (const effect of this.#pending) {
        const after = effect(state);
        if (after !== undefined && !this.#states.has(textOf(after)))
          this.#states.set(textOf(after), after);
      }
  }
}
