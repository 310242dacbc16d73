// Moves the named parts of an OpenAPI document to its components and refers to them.

import { own } from "../../lib/own-property.ts";
import { isObjectSchema } from "../../lib/schema/subschemas.ts";

/** The named objects by kind and name, such as `schemas` and `Token`. */
export type Components = Readonly<Record<string, Readonly<Record<string, object>>>>;

/**
 * Returns the document with a `$ref` in place of each named object, and with the components that
 * something refers to, or that `named` lists. An object is recognised by identity, a `$ref` that is
 * already there by its text.
 */
export function withComponents<Document extends { readonly components: object }>(
  document: Document,
  components: Components,
  named: readonly string[] = [],
): Document & { readonly components: Components } {
  const references = new Map<object, string>();
  for (const [kind, named] of Object.entries(components))
    for (const [name, object] of Object.entries(named))
      references.set(object, `#/components/${kind}/${name}`);
  const used = new Map<string, unknown>();

  const use = (reference: string): void => {
    const [, , kind = "", name = ""] = reference.split("/");
    const object = own(own(components, kind) ?? {}, name);
    if (object === undefined || used.has(reference)) return;
    used.set(reference, undefined);
    used.set(reference, copy(object));
  };
  const refer = (value: unknown): unknown => {
    const reference = isObjectSchema(value) ? (references.get(value) ?? value.$ref) : undefined;
    if (typeof reference === "string") use(reference);
    return isObjectSchema(value) && references.has(value) ? { $ref: reference } : copy(value);
  };
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(refer);
    if (!isObjectSchema(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, refer(inner)]));
  };

  const rest = copy(document) as Document;
  for (const reference of named) use(reference);
  const usedOf = (kind: string, named: Readonly<Record<string, object>>) =>
    Object.keys(named).flatMap((name) => {
      const reference = `#/components/${kind}/${name}`;
      return used.has(reference) ? [[name, used.get(reference)]] : [];
    });
  const shown = Object.entries(components).map(([kind, named]) => [
    kind,
    Object.fromEntries(usedOf(kind, named)),
  ]);
  return { ...rest, components: { ...document.components, ...Object.fromEntries(shown) } };
}
