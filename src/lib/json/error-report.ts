// Collects the errors of one JSON text with a JSON Pointer for each, up to a limit.

/** One error in a body: its location (JSON Pointer, RFC 6901) and what to do. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

export const reportLimits = {
  maxErrors: 100,
  /** The limit for all pointers together, because a long member name is repeated in the pointer of every error below it. */
  maxPointerChars: 65_536,
} as const;

/** Member names and array indexes from the root to a value. */
export type Path = readonly (string | number)[];

export class ErrorReport {
  readonly errors: FieldError[] = [];
  private pointerChars = 0;

  /** Ignores duplicates and everything beyond the limits. */
  add(path: Path, detail: string): void {
    const { maxErrors, maxPointerChars } = reportLimits;
    if (this.errors.length === maxErrors || this.pointerChars >= maxPointerChars) return;
    const pointer = pointerTo(path);
    this.pointerChars += pointer.length;
    const isDuplicate = this.errors.some(
      (error) => error.pointer === pointer && error.detail === detail,
    );
    if (!isDuplicate) this.errors.push({ pointer, detail });
  }

  /** A syntax error points to the whole text, because there is no document to point into. */
  addMalformed(text: string, at: number, expected: string): void {
    const ending = at === text.length ? ", but the text ends here" : "";
    this.add([], `malformed JSON at ${lineAndColumn(text, at)}: ${expected}${ending}`);
  }
}

/** RFC 6901 §3. A lone surrogate becomes U+FFFD, as it would in UTF-8. */
export function pointerTo(path: Path): string {
  return path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
    .toWellFormed();
}

/** The steps of a pointer. */
export const pathOfPointer = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

function lineAndColumn(text: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const lineEnd = text.indexOf("\n", lineStart);
    if (lineEnd === -1 || lineEnd >= at) return `line ${line}, column ${at - lineStart + 1}`;
    line++;
    lineStart = lineEnd + 1;
  }
}
