// The query string: strict, because a typo must not silently change what is returned.

import { type ParameterError, Problem } from "../model/problem.ts";
import type { ListRequest } from "../model/query/list-request.ts";
import { holdsSecret } from "../model/token.ts";

const credentialName =
  /^(?:access[_-]?token|refresh[_-]?token|id[_-]?token|token|bearer|auth|authorization|jwt|api[_-]?key|apikey|client[_-]?secret|secret|password|passwd|pwd)$/i;

/** The name of a parameter that is or holds a credential, which a URL must never carry. */
export function credentialIn(query: string): string | undefined {
  if (query === "") return undefined;
  return pairs(query).find(([name, value]) => isCredential(name, value))?.[0];
}

/** A name with an operator is the name still. */
const isCredential = (name: string, value: string): boolean =>
  credentialName.test(name.split("[", 1)[0] ?? "") || holdsSecret(`${name} ${value}`);

/** The parameters as they were sent, decoded. */
export function pairs(query: string): readonly (readonly [string, string])[] {
  return query === "" ? [] : [...new URLSearchParams(query)];
}

/** The parameters by name; unknown and repeated ones are faults. */
export function readParameters<Name extends string>(
  query: string,
  known: readonly Name[],
): Partial<Record<Name, string>> | Problem {
  const found: Partial<Record<string, string>> = Object.create(null);
  const errors: ParameterError[] = [];
  for (const [name, value] of pairs(query)) {
    if (!(known as readonly string[]).includes(name)) {
      const exist = known.length > 0 ? `There are: ${known.join(", ")}.` : "There are none here.";
      errors.push({ parameter: name, detail: `There is no parameter of this name. ${exist}` });
    } else if (found[name] !== undefined) {
      errors.push({ parameter: name, detail: "The parameter is repeated; send it once." });
    } else {
      found[name] = value;
    }
  }
  return errors.length > 0 ? invalid(errors) : (found as Partial<Record<Name, string>>);
}

/** The same of what was asked in a URL. */
export const invalidQuestion = (faults: ListRequest["errors"]): Problem =>
  invalid(faults as readonly ParameterError[]);

export const invalid = (errors: readonly ParameterError[]): Problem =>
  new Problem("invalid-parameter", "The query string is not valid; `errors` names each fault.", {
    errors,
  });

/** Most addresses take no parameters; an unknown one is a mistake that must not pass silently. */
export function refuseParameters({ query }: { readonly query: string }): Problem | undefined {
  if (query === "") return undefined;
  const parameters = readParameters(query, []);
  return parameters instanceof Problem ? parameters : undefined;
}
