// Parses query strings strictly, because a typo must not silently change the result.

import { type ParameterError, Problem } from "../../model/problem.ts";
import type { ListRequest } from "../../model/query/list-request.ts";
import { holdsSecret } from "../../model/token.ts";

const credentialName =
  /^(?:access[_-]?token|refresh[_-]?token|id[_-]?token|token|bearer|auth|authorization|jwt|api[_-]?key|apikey|client[_-]?secret|secret|password|passwd|pwd)$/i;

/** The decoded parameters of a query string, in the order in which they were sent. */
export type SearchParams = readonly (readonly [name: string, value: string])[];

export const readSearchParams = (query: string): SearchParams =>
  query === "" ? [] : [...new URLSearchParams(query)];

/** Returns the name of a parameter that contains a credential, which a URL must never have. */
export const findCredential = (searchParams: SearchParams): string | undefined =>
  searchParams.find(([name, value]) => isCredential(name, value))?.[0];

/** The name counts without its operator in brackets. */
const isCredential = (name: string, value: string): boolean =>
  credentialName.test(name.split("[", 1)[0] ?? "") || holdsSecret(`${name} ${value}`);

/** Returns the parameters by name; unknown and repeated ones are errors. */
export function readParameters<Name extends string>(
  searchParams: SearchParams,
  known: readonly Name[],
): Partial<Record<Name, string>> | Problem {
  const found: Partial<Record<string, string>> = Object.create(null);
  const errors: ParameterError[] = [];
  for (const [name, value] of searchParams) {
    if (!(known as readonly string[]).includes(name)) {
      const exist =
        known.length > 0
          ? `The parameters are: ${known.join(", ")}.`
          : "This address takes no parameters.";
      errors.push({ parameter: name, detail: `There is no parameter with this name. ${exist}` });
    } else if (found[name] !== undefined) {
      errors.push({ parameter: name, detail: "The parameter is repeated; send it once." });
    } else {
      found[name] = value;
    }
  }
  return errors.length > 0 ? invalid(errors) : (found as Partial<Record<Name, string>>);
}

/** The problem of an invalid list request in a URL. */
export const invalidListRequest = (errors: ListRequest["errors"]): Problem =>
  invalid(errors as readonly ParameterError[]);

export const invalid = (errors: readonly ParameterError[]): Problem =>
  new Problem("invalid-parameter", "The query string is not valid; `errors` lists each error.", {
    errors,
  });

/** Rejects any parameter: most addresses take none, and a mistake must not pass silently. */
export function rejectParameters({
  searchParams,
}: {
  readonly searchParams: SearchParams;
}): Problem | undefined {
  const parameters = readParameters(searchParams, []);
  return parameters instanceof Problem ? parameters : undefined;
}
