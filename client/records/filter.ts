// What the filters of a provider become in a list query.

import type { AnyResource, Where } from "../index.ts";

export type AnyCondition = Where<AnyResource>;

export interface FilterQuery {
  readonly where?: AnyCondition;
  readonly q?: string;
}
