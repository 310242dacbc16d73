// The predicate of the resources that a subject owns.

import { ownerField } from "../model/query/index-plan.ts";
import type { Condition } from "../model/query/predicate.ts";
import { equalTo, keyOf } from "../model/query/sort-key.ts";

export const ownedBy = (owner: string): Condition => ({
  field: ownerField,
  kind: "text",
  spans: [equalTo(keyOf("text", owner))],
});
