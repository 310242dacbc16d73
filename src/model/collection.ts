// A named set of resources with its rules.

export interface Collection {
  readonly name: string;
  /** The revision of the last write to any resource in it, or to its definition. */
  readonly revision: number;
  /** How many resources are alive: exact. */
  readonly total: number;
  /** Its rules: the text of a JSON object, `{}` for an open collection. */
  readonly definition: string;
  readonly createdAt: number;
  /** When the last write happened. */
  readonly updatedAt: number;
  /** As in Resource. */
  readonly sharesDate?: true;
}

/** What a collection demands, since its last definition. */
export interface Rules {
  /** Another with every definition; 0 when there was none. */
  readonly version: number;
  readonly definition: string;
}
