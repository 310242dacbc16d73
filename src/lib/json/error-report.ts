// The faults of one text: gathered, pointed to, and kept to what a person will read.

/** One error in a body: where it is (JSON Pointer, RFC 6901) and what to do. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

export const reportLimits = {
  maxErrors: 100,
  /** Of all pointers together: a long name above many faults must not be echoed for each of them. */
  maxPointerChars: 65_536,
} as const;

/** Member names and array indexes from the root to a value. */
export type Path = readonly (string | number)[];

export class ErrorReport {
  readonly errors: FieldError[] = [];
  private pointerChars = 0;

  /** What is past the limits is left out; so is what was said of the same place before. */
  add(path: Path, detail: string): void {
    const { maxErrors: maxFaults, maxPointerChars } = reportLimits;
    if (this.errors.length === maxFaults || this.pointerChars >= maxPointerChars) return;
    const pointer = pointerTo(path);
    this.pointerChars += pointer.length;
    const isKnown = this.errors.some(
      (fault) => fault.pointer === pointer && fault.detail === detail,
    );
    if (!isKnown) this.errors.push({ pointer, detail });
  }

  /** Broken grammar has no pointer of its own, because there is no document to point into. */
  addMalformed(text: string, at: number, expected: string): void {
    const ending = at === text.length ? ", but the text ends here" : "";
    this.add([], `malformed JSON at ${placeOf(text, at)}: ${expected}${ending}`);
  }
}

/** RFC 6901 §3. Half of a surrogate pair becomes U+FFFD, as it would on the wire. */
export function pointerTo(path: Path): string {
  return path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
    .toWellFormed();
}

function placeOf(text: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const lineEnd = text.indexOf("\n", lineStart);
    if (lineEnd === -1 || lineEnd >= at) return `line ${line}, column ${at - lineStart + 1}`;
    line++;
    lineStart = lineEnd + 1;
  }
}
