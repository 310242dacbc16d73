// The expected ends of a command: words for a person, and an exit code for a script.

/** 2: what was typed or set is wrong; 1: something outside is in the way. No stack is shown. */
export class CliError extends Error {
  readonly code: 1 | 2;

  constructor(code: CliError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Every fault at once: where it is, and what is allowed there. */
export function usageError(faults: readonly { where: string; detail: string }[]): CliError {
  return new CliError(2, faults.map(({ where, detail }) => `${where}: ${detail}`).join("\n"));
}

export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
