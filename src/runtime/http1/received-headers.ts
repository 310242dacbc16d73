// The header fields of a request, with the methods of Headers that read.

/** Names are in lower case, and the lines of a repeated field are joined. */
export class ReceivedHeaders implements Iterable<[string, string]> {
  readonly #values: Map<string, string>;

  constructor(values: Map<string, string>) {
    this.#values = values;
  }

  get(name: string): string | null {
    return this.#values.get(name) ?? this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name) || this.#values.has(name.toLowerCase());
  }

  /** Returns a copy with another value of a field. */
  with(name: string, value: string): ReceivedHeaders {
    return new ReceivedHeaders(new Map(this.#values).set(name, value));
  }

  forEach(call: (value: string, name: string, all: ReceivedHeaders) => void): void {
    for (const [name, value] of this.#values) call(value, name, this);
  }

  entries(): MapIterator<[string, string]> {
    return this.#values.entries();
  }

  keys(): MapIterator<string> {
    return this.#values.keys();
  }

  values(): MapIterator<string> {
    return this.#values.values();
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.#values.entries();
  }
}
