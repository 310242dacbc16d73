// Reads the code of a failed system call, such as ENOENT.

/** Returns an empty text when the error has no code. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
