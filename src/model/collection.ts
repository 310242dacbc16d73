// A collection: a named set of resources with its definition.

export interface Collection {
  readonly name: string;
  /** The revision of the last write to any resource in it, or to its definition. */
  readonly revision: number;
  /** The exact number of resources. */
  readonly total: number;
  /** The size of the JSON texts of all resources in UTF-8. */
  readonly bytes: number;
  /** The same as in Rules. Its full seconds are when the definition was set; 0 when it never was. */
  readonly version: number;
  /** The definition as JSON text, `{}` for an open collection. */
  readonly definition: string;
  readonly createdAt: number;
  /** The time of the last write. */
  readonly updatedAt: number;
  /** The same as in Resource. */
  readonly sharesDate?: true;
}

/** The definition of a collection and its version. */
export interface Rules {
  /** Changes with every definition; 0 when there is none. */
  readonly version: number;
  readonly definition: string;
  /** The names of the collections with references to this one, if there are any. */
  readonly referrers?: readonly string[];
}
