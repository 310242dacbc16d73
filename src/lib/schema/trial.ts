// Adds errors for a schema that does not compile or fails on sample values, because every write depends on it later.

import { ErrorReport, type Path } from "../json/error-report.ts";
import type { WorkSteps } from "../turns.ts";
import { exampleOf } from "./example.ts";
import { explain } from "./explain.ts";
import type { Fields } from "./fields.ts";
import type { CompiledSchema } from "./validator.ts";

const wrongValues = [null, true, 0, "", [], [null], {}, { a: {} }];

/** Adds an error when a schema without other errors cannot validate values. `size` is the length of its text. */
export function* trialSteps(
  compiled: CompiledSchema,
  fields: Fields,
  size: number,
  path: Path,
  report: ErrorReport,
): WorkSteps<void> {
  try {
    yield* compiled.compileSteps();
    for (const value of valuesFor(compiled, fields)) {
      const parsed = compiled.parse(JSON.stringify(value));
      const isValid = compiled.isValid(parsed);
      yield size;
      if (!isValid) explain(compiled, parsed, [], new ErrorReport());
      yield size;
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    report.add(
      path,
      `this schema cannot be used to validate values; it may be too large: ${reason}`,
    );
  }
}

/** An example, an empty object, and all members with values of each type. */
function* valuesFor(compiled: CompiledSchema, fields: Fields): Generator<unknown> {
  const find = (reference: string) => compiled.references.find(reference)?.schema;
  yield exampleOf(compiled.root, find) ?? {};
  yield {};
  for (const wrong of wrongValues)
    yield Object.fromEntries([...fields.members.keys()].map((name) => [name, wrong]));
}
