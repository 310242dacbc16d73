// Collects the parameters of an SQL text while its parts are written, some of which are not used in the end.

export type Parameter = string | number;

interface StatementText {
  readonly text: string;
  readonly values: readonly Parameter[];
}

export class Parameters {
  readonly #values: Parameter[] = [];

  /** Returns a mark that stands for the value. */
  bind(value: Parameter): string {
    return `@${this.#values.push(value) - 1};`;
  }

  /** Replaces the marks in the order in which they appear. `write` returns the text of the parameter with this number. */
  finish(text: string, write: (number: number, value: Parameter) => string): StatementText {
    const values: Parameter[] = [];
    const finished = text.replace(/@(\d+);/g, (_, index) => {
      const value = this.#values[Number(index)] ?? 0;
      return write(values.push(value), value);
    });
    return { text: finished, values };
  }
}
