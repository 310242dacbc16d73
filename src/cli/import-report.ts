// Reports what an import has done: a line for each rejected line, and the counts at the end.

import type { ImportCount, RejectedLine } from "./import-lines.ts";
import { inputName } from "./input-file.ts";
import { countOf, formatCount, type Progress } from "./progress.ts";

export interface ImportResult {
  readonly collection: string;
  readonly file: string;
  readonly isDryRun: boolean;
}

type LineCounts = Pick<ImportCount, "lines" | "created" | "replaced" | "existing" | "rejected">;

/** More rejected lines are counted and not listed. */
const maxListed = 100;

export class ImportReport {
  readonly progress: Progress;
  readonly #isJson: boolean;
  readonly #results: (ImportResult & LineCounts)[] = [];
  readonly #listed: (RejectedLine & { readonly file: string })[] = [];
  #rejected = 0;

  constructor(progress: Progress, isJson: boolean) {
    this.progress = progress;
    this.#isJson = isJson;
  }

  get isAnyRejected(): boolean {
    return this.#rejected > 0;
  }

  reject(file: string, rejected: RejectedLine): void {
    this.#rejected++;
    if (this.#rejected > maxListed) return;
    this.#listed.push({ file, ...rejected });
    const { line, status, detail } = rejected;
    if (!this.#isJson) this.progress.note(`${inputName(file)} line ${line}: ${status} ${detail}`);
  }

  add(result: ImportResult & LineCounts): void {
    this.#results.push(result);
  }

  /** Prints the counts to standard output. */
  print(): void {
    const omitted = this.#rejected - this.#listed.length;
    if (this.#isJson) {
      process.stdout.write(`${JSON.stringify(this)}\n`);
      return;
    }
    if (omitted > 0) this.progress.note(`… and ${formatCount(omitted)} more rejected lines`);
    if (this.#listed.some(({ detail }) => detail.includes("charset=windows-1252")))
      this.progress.note("A file of an older program may need --encoding windows-1252.");
    for (const result of this.#results) process.stdout.write(`${textOf(result)}\n`);
  }

  /** What `--json` prints. */
  toJSON() {
    const omitted = this.#rejected - this.#listed.length;
    const imports = this.#results.map(
      ({ collection, file, isDryRun, lines, created, replaced, existing, rejected }) => ({
        collection,
        file,
        lines,
        created,
        replaced,
        existing,
        rejected,
        ...(isDryRun && { dryRun: true }),
      }),
    );
    return { imports, errors: this.#listed, ...(omitted > 0 && { errorsOmitted: omitted }) };
  }
}

function textOf(result: ImportResult & LineCounts): string {
  const { collection, file, isDryRun, lines, created, replaced, existing, rejected } = result;
  const counts = [
    `${formatCount(created)} ${isDryRun ? "would be " : ""}created`,
    `${formatCount(replaced)} replaced`,
    ...(existing > 0 ? [`${formatCount(existing)} imported before`] : []),
    `${formatCount(rejected)} rejected`,
  ];
  const what = `${countOf(lines, "lines")} of ${inputName(file)} for ${collection}`;
  return `${what}: ${counts.join(", ")}${isDryRun ? " (dry run, nothing was written)" : ""}`;
}
