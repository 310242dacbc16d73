// An expected failure of a command: a message for the user and an exit code.

/** Code 2 is a usage or configuration error, code 1 any other failure. No stack trace is printed. */
export class CliError extends Error {
  readonly code: 1 | 2;

  constructor(code: CliError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Reports all errors at once, one per line: the location and the detail. */
export function usageError(errors: readonly { where: string; detail: string }[]): CliError {
  return new CliError(2, errors.map(errorText).join("\n"));
}

export const errorText = ({ where, detail }: { where: string; detail: string }): string =>
  `${where}: ${detail}`;

export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
