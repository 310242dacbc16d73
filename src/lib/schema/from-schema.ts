// The TypeScript type of the values that fit a JSON Schema which is written in TypeScript itself.

/** In: what a schema lets in, with its defaults filled in. Out: what is to be made to fit it. */
type Way = "in" | "out";

/** What is not understood here is `unknown`: never more is promised than the schema does. */
export type FromSchema<S, W extends Way = "in"> = S extends false
  ? never
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly type: readonly (infer Name)[] }
        ? OfType<Name, S, W>
        : S extends { readonly type: infer Name }
          ? OfType<Name, S, W>
          : S extends { readonly anyOf: readonly (infer One)[] }
            ? FromSchema<One, W>
            : S extends { readonly oneOf: readonly (infer One)[] }
              ? FromSchema<One, W>
              : unknown;

type OfType<Name, S, W extends Way> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? readonly ItemOf<S, W>[]
          : Name extends "object"
            ? ObjectOf<S, W>
            : unknown;

type ItemOf<S, W extends Way> = S extends { readonly prefixItems: unknown }
  ? unknown
  : S extends { readonly items: infer Item }
    ? FromSchema<Item, W>
    : unknown;

/** Members that the schema allows without naming them are there, but nothing is known of them. */
type ObjectOf<S, W extends Way> = S extends { readonly properties: infer Properties }
  ? Flat<
      { readonly [Name in Present<S, Properties, W>]: FromSchema<Properties[Name], W> } & {
        readonly [Name in Exclude<keyof Properties, Present<S, Properties, W>>]?: FromSchema<
          Properties[Name],
          W
        >;
      }
    >
  : S extends { readonly additionalProperties: infer Member extends object }
    ? { readonly [name: string]: FromSchema<Member, "out"> }
    : { readonly [name: string]: unknown };

type Present<S, Properties, W extends Way> =
  | (S extends { readonly required: readonly (infer Name)[] }
      ? Extract<keyof Properties, Name>
      : never)
  | (W extends "in" ? Filled<Properties> : never);

type Filled<Properties> = {
  [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Properties];

/** The same, shown as one object. */
type Flat<T> = { [Name in keyof T]: T[Name] };
