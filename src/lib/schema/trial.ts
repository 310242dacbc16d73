// A schema is compiled and run on a few values before it takes effect, because afterwards every write needs it.

import { ErrorReport, type Path } from "../json/error-report.ts";
import { exampleOf } from "./example.ts";
import { explain } from "./explain.ts";
import type { Fields } from "./fields.ts";
import type { CompiledSchema } from "./validator.ts";

const wrongValues = [null, true, 0, "", [], [null], {}, { a: {} }];

/** Adds why values cannot be judged by a schema that has no other fault, if they cannot. */
export function addTrialErrors(
  ready: CompiledSchema,
  fields: Fields,
  path: Path,
  report: ErrorReport,
): void {
  try {
    for (const value of valuesFor(ready, fields)) {
      const parsed = ready.parse(JSON.stringify(value));
      if (!ready.isValid(parsed)) explain(ready, parsed, [], new ErrorReport());
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    report.add(path, `values cannot be judged by this schema, which may be too large: ${reason}`);
  }
}

/** An example, no member at all, and all members with values of each kind. */
function* valuesFor(ready: CompiledSchema, fields: Fields): Generator<unknown> {
  const found = (reference: string) => ready.references.find(reference)?.schema;
  yield exampleOf(ready.root, found) ?? {};
  yield {};
  for (const wrong of wrongValues)
    yield Object.fromEntries([...fields.members.keys()].map((name) => [name, wrong]));
}
