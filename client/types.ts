// The types of a client: what `restante types` writes for each collection, and the filters, sort orders, expansions and patches that fit it.

import type { operators } from "./operators.ts";

/** One collection, as `restante types` writes it. */
export interface CollectionTypes {
  readonly resource: Identified;
  /** What can be sent: of a schema that allows no object, nothing is an object. */
  readonly draft: unknown;
}

export interface Identified {
  readonly id: string;
}

/** The collections of a server. Without types of one's own, every name is a collection of anything. */
export type AnyCollections = Readonly<Record<string, AnyCollection>>;

export interface AnyCollection {
  readonly resource: AnyResource;
  readonly draft: Readonly<Record<string, unknown>>;
}

export interface AnyResource extends Identified {
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly [name: string]: unknown;
}

type Scalar = string | number | boolean | null | undefined;
type Element<T> = T extends readonly (infer E)[] ? E : never;
type IsOpen<T> = string extends keyof T ? true : false;
/** What is below a field that is so deep is text. */
type Less = readonly [never, 0, 1, 2, 3];

/** `name`, `address.city`, `tags[]`, `lines[].sku`, and across references `customer.country`. */
export type FieldPath<T, Depth extends number = 3> =
  IsOpen<T> extends true
    ? string
    : Depth extends 0
      ? never
      :
          | { [K in Exclude<keyof T & string, "_expanded">]: Below<K, T[K], Depth> }[Exclude<
              keyof T & string,
              "_expanded"
            >]
          | AcrossReferences<T, Depth>;

type Below<K extends string, V, Depth extends number> = [NonNullable<V>] extends [Scalar]
  ? K
  : NonNullable<V> extends readonly unknown[]
    ? K | `${K}[]` | Dotted<`${K}[]`, Element<NonNullable<V>>, Depth>
    : K | Dotted<K, NonNullable<V>, Depth>;

type Dotted<K extends string, V, Depth extends number> = V extends Scalar | readonly unknown[]
  ? never
  : `${K}.${FieldPath<V, Less[Depth] & number>}`;

type ExpandedOf<T> = T extends { readonly _expanded?: infer E } ? NonNullable<E> : object;
type ReferredType<V> = Exclude<V extends readonly (infer E)[] ? E : V, null | undefined>;

type AcrossReferences<T, Depth extends number> = {
  [K in keyof ExpandedOf<T> & string]: Dotted<K, ReferredType<ExpandedOf<T>[K]>, Depth>;
}[keyof ExpandedOf<T> & string];

/** The type of the value at a path; `unknown` where it cannot be said. */
export type ValueAt<T, P extends string> = P extends keyof T
  ? Single<NonNullable<T[P]>>
  : P extends `${infer Head}[].${infer Rest}`
    ? Head extends keyof T
      ? ValueAt<Element<NonNullable<T[Head]>>, Rest>
      : unknown
    : P extends `${infer Head}[]`
      ? Head extends keyof T
        ? Element<NonNullable<T[Head]>>
        : unknown
      : P extends `${infer Head}.${infer Rest}`
        ? Head extends keyof ExpandedOf<T>
          ? ValueAt<ReferredType<ExpandedOf<T>[Head]>, Rest>
          : Head extends keyof T
            ? ValueAt<NonNullable<T[Head]>, Rest>
            : unknown
        : unknown;

/** A condition on an array holds for one of its elements. */
type Single<V> = V extends readonly (infer E)[] ? E : V;

interface Operands<V> {
  readonly value: V;
  readonly list: readonly V[];
  readonly boolean: boolean;
  readonly text: string;
}

export type Operators<V> = {
  readonly [O in keyof typeof operators]?: Operands<V>[(typeof operators)[O]];
};

interface ElementOperators<E> {
  /** One element that meets all conditions. */
  readonly some?: E extends object ? Where<E> : Operators<E>;
}

type FieldCondition<T, P extends string> =
  | ValueAt<T, P>
  | Operators<ValueAt<T, P>>
  | (P extends keyof T
      ? NonNullable<T[P]> extends readonly (infer E)[]
        ? ElementOperators<E>
        : never
      : never);

/** Conditions as in `where` of a list. A resource must meet all of them. */
export type Where<T> = { readonly [P in FieldPath<T>]?: FieldCondition<T, P> } & {
  readonly $or?: readonly Where<T>[];
  readonly $and?: readonly Where<T>[];
  readonly $not?: Where<T>;
};

export type SortField<T> = FieldPath<T> | `-${FieldPath<T>}`;

/** The references of a resource; deeper ones as `customer.company`. */
export type ExpandPath<T> =
  IsOpen<T> extends true
    ? string
    :
        | (keyof ExpandedOf<T> & string)
        | {
            [K in keyof ExpandedOf<T> & string]: `${K}.${keyof ExpandedOf<
              ReferredType<ExpandedOf<T>[K]>
            > &
              string}`;
          }[keyof ExpandedOf<T> & string];

/** A merge patch (RFC 7396): null removes a member. */
export type Patch<D> = {
  readonly [K in keyof D]?: undefined extends D[K] ? PatchValue<D[K]> | null : PatchValue<D[K]>;
};

type PatchValue<V> = V extends readonly unknown[] ? V : V extends object ? Patch<V> : V;

/** A PATCH that computes with the stored values. Fields are names, or names with dots between them. */
export interface Operations<D> {
  /** Adds to numbers, exactly. */
  readonly increment?: { readonly [P in keyof FieldsWith<D, number>]?: number };
  /** Adds items at the end of arrays. */
  readonly append?: FieldsWith<D, readonly unknown[]>;
  /** Removes all items that are equal to one of these. */
  readonly remove?: FieldsWith<D, readonly unknown[]>;
  /** Keeps the smaller of the stored and this value. */
  readonly min?: FieldsWith<D, number | string>;
  /** Keeps the larger of the stored and this value. */
  readonly max?: FieldsWith<D, number | string>;
}

/** The fields that can be of a kind, each with what is sent for it. */
type FieldsWith<D, Kind> =
  IsOpen<D> extends true
    ? Readonly<Record<string, Kind>>
    : {
        readonly [P in FieldPath<D> as [OfKind<D, P, Kind>] extends [never] ? never : P]?: OfKind<
          D,
          P,
          Kind
        >;
      };

type OfKind<D, P extends string, Kind> =
  unknown extends StoredAt<D, P> ? Kind : Extract<StoredAt<D, P>, Kind>;

/** The type of the whole value at a path; never in an array. */
type StoredAt<D, P extends string> = P extends keyof D
  ? Exclude<D[P], null | undefined>
  : P extends `${infer Head}.${infer Rest}`
    ? Head extends keyof D
      ? StoredAt<Exclude<D[Head], null | undefined>, Rest>
      : never
    : never;
