// Derives the TypeScript type of the valid values of a JSON Schema that is a TypeScript constant.

/** In: a validated value with its defaults filled in. Out: a value that is yet to be validated. */
type TypeDirection = "in" | "out";

/** Keywords that are not understood give `unknown`: the type never promises more than the schema. */
export type FromSchema<S, W extends TypeDirection = "in"> = S extends false
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

type OfType<Name, S, W extends TypeDirection> = Name extends "string"
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

type ItemOf<S, W extends TypeDirection> = S extends { readonly prefixItems: unknown }
  ? unknown
  : S extends { readonly items: infer Item }
    ? FromSchema<Item, W>
    : unknown;

/** Members that the schema does not declare have no known type. */
type ObjectOf<S, W extends TypeDirection> = S extends { readonly properties: infer Properties }
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

type Present<S, Properties, W extends TypeDirection> =
  | (S extends { readonly required: readonly (infer Name)[] }
      ? Extract<keyof Properties, Name>
      : never)
  | (W extends "in" ? WithDefault<Properties> : never);

type WithDefault<Properties> = {
  [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Properties];

/** Flattens an intersection into one object type. */
type Flat<T> = { [Name in keyof T]: T[Name] };
