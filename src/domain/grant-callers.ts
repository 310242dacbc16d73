// Tells whom a grant is for.

import { type RuleCondition, setsIn, textsIn } from "../model/access/caller-values.ts";
import { type Grant, grantsOf } from "../model/access/grant.ts";
import type { Definition } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { allows, allowsScope, type Verb } from "../model/token.ts";

/** Whether a grant is for a kind of caller that the principal is. */
export function isFor(principal: Principal, name: string, verb: Verb, { to }: Grant): boolean {
  if (to === "everyone") return true;
  if (to === "token" || to === "owner") return allows(principal, name, verb);
  return "role" in to ? principal.roles.includes(to.role) : allowsScope(principal, to.scope);
}

/** Whether a grant of a verb can apply to the principal, whatever its sets contain. */
export const canApply = (
  principal: Principal,
  name: string,
  verb: Verb,
  definition: Definition,
): boolean =>
  grantsOf(definition, verb).some((grant) => {
    const conditions = [definition.boundary, grant.where, grant.check, grant.set];
    const isMissing = principal.subject === undefined && conditions.some(needsSubject);
    return !isMissing && isFor(principal, name, verb, grant);
  });

const needsSubject = (condition: RuleCondition | undefined): boolean =>
  textsIn(condition).includes("$me") || setsIn(condition).length > 0;
