// Queues items of several callers and takes one of each caller in turn.

export class FairQueue<T> {
  /** The items by caller. The first caller is the next one to be served. */
  readonly #byCaller = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.length ?? 0;
  }

  push(caller: string, item: T): void {
    const items = this.#byCaller.get(caller) ?? [];
    items.push(item);
    this.#byCaller.set(caller, items);
    this.#size++;
  }

  /** Takes the oldest item of the next caller, who then is the last one to be served again. */
  shift(): T | undefined {
    for (const [caller, items] of this.#byCaller) {
      const item = items.shift();
      this.#byCaller.delete(caller);
      if (items.length > 0) this.#byCaller.set(caller, items);
      if (item === undefined) continue;
      this.#size--;
      return item;
    }
    return undefined;
  }

  remove(caller: string, item: T): void {
    const items = this.#byCaller.get(caller);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index < 0) return;
    items.splice(index, 1);
    this.#size--;
    if (items.length === 0) this.#byCaller.delete(caller);
  }
}
