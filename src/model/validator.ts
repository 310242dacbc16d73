// What a collection's schema makes of fields that come in and go out.

import { ErrorReport, type Path } from "../lib/json/error-report.ts";
import {
  copyTree,
  emptyObject,
  isObject,
  type ObjectTree,
  readTree,
  sameTree,
  type Tree,
  writeTree,
} from "../lib/json/tree.ts";
import { explain } from "../lib/schema/explain.ts";
import { type Field, type Fields, fieldsOf, isHiddenIn } from "../lib/schema/fields.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";
import type { Definition } from "./definition.ts";
import type { FieldError } from "./problem.ts";

export interface ResourceValidator {
  /** Whether there are fields that are never shown. */
  readonly hasHidden: boolean;
  /** Whether what is there decides what may take its place. */
  readonly dependsOnStored: boolean;
  /** The names of the members that are declared, without those that are never shown. */
  readonly shownMembers: readonly string[];
  /** Whether the field at a path with dots is never shown, or lies in one that is not. */
  isHidden(field: string): boolean;
  /** Whether only an administrator may set the field at these names, or one that it lies in. */
  isReadOnly(names: readonly string[]): boolean;
  /**
   * The text to store, or every fault at once. `fields` is the compact text of an object without
   * faults of JSON, `before` what was stored when it is replaced. Nothing added, nothing touched.
   * With `isUnread` the caller may not read what was stored, and no answer depends on its values.
   */
  accept(
    fields: string,
    before: string | undefined,
    isAdmin: boolean,
    isUnread?: boolean,
  ): string | readonly FieldError[];
  /** The fields without those that are never shown. */
  visible(fields: string): string;
  /** With the hidden fields of `before` that are not there: for what was made out of what is shown. */
  withHidden(fields: string, before: string): string;
}

const openValidator: ResourceValidator = {
  hasHidden: false,
  dependsOnStored: false,
  shownMembers: [],
  isHidden: () => false,
  isReadOnly: () => false,
  accept: (fields) => fields,
  visible: (fields) => fields,
  withHidden: (fields) => fields,
};

const known = new WeakMap<Definition, ResourceValidator>();

/** Made once for as long as the definition is the same object. */
export function validatorOf(definition: Definition): ResourceValidator {
  if (definition.schema === undefined) return openValidator;
  const before = known.get(definition);
  if (before !== undefined) return before;
  const shape = new SchemaResourceValidator(definition.schema);
  known.set(definition, shape);
  return shape;
}

const adminOnlySet = "only an administrator may set this";
export const adminOnlyChange = "only an administrator may change this";

class SchemaResourceValidator implements ResourceValidator {
  readonly hasHidden: boolean;
  readonly dependsOnStored: boolean;
  readonly #ready: CompiledSchema;
  readonly #fields: Fields;
  /** Whether fields may have to be filled in or kept. */
  readonly #settles: boolean;

  constructor(schema: ObjectSchema) {
    this.#ready = new CompiledSchema(schema);
    this.#fields = fieldsOf(schema, this.#ready.references);
    this.hasHidden = this.#fields.some(isWriteOnly);
    this.dependsOnStored = this.hasHidden || this.#fields.some(isReadOnly);
    this.#settles = this.#fields.some(
      ({ defaultText, isReadOnly }) => isReadOnly || defaultText !== undefined,
    );
  }

  get shownMembers(): readonly string[] {
    return [...this.#fields.members.keys()].filter((name) => !this.isHidden(name));
  }

  isHidden(field: string): boolean {
    return this.hasHidden && isHiddenIn(this.#fields, field.split("."));
  }

  isReadOnly(names: readonly string[]): boolean {
    return names.some((_, index) => this.#fields.at(names.slice(0, index + 1))?.isReadOnly);
  }

  accept(
    fields: string,
    before: string | undefined,
    isAdmin: boolean,
    isUnread = false,
  ): string | readonly FieldError[] {
    const report = new ErrorReport();
    const settling = new Settling(isAdmin, isUnread, report);
    const text = this.#settles ? this.#settled(fields, before, settling) : fields;
    const value = this.#ready.parse(text);
    if (!this.#ready.isValid(value)) explain(this.#ready, value, [], report);
    return report.errors.length > 0 ? report.errors : text;
  }

  #settled(fields: string, before: string | undefined, settling: Settling): string {
    const tree = readTree(fields);
    const old = before === undefined ? undefined : readTree(before);
    if (!isObject(tree)) return fields;
    const isChanged = settling.settle(this.#fields, tree, objectOr(old), []);
    return isChanged ? writeTree(tree) : fields;
  }

  visible(fields: string): string {
    const tree = this.hasHidden ? readTree(fields) : undefined;
    return isObject(tree) && hide(this.#fields, tree) ? writeTree(tree) : fields;
  }

  withHidden(fields: string, before: string): string {
    const tree = this.hasHidden ? readTree(fields) : undefined;
    const old = this.hasHidden ? readTree(before) : undefined;
    const isChanged = isObject(tree) && isObject(old) && restore(this.#fields, tree, old);
    return isChanged ? writeTree(tree) : fields;
  }
}

const isWriteOnly = (field: Field): boolean => field.isWriteOnly;
const isReadOnly = (field: Field): boolean => field.isReadOnly;
const objectOr = (tree: Tree | undefined): ObjectTree | undefined =>
  isObject(tree) ? tree : undefined;

/** Fills in defaults, and keeps what only an administrator may change. Each says whether it changed something. */
class Settling {
  readonly #isAdmin: boolean;
  readonly #isUnread: boolean;
  readonly #report: ErrorReport;

  constructor(isAdmin: boolean, isUnread: boolean, report: ErrorReport) {
    this.#isAdmin = isAdmin;
    this.#isUnread = isUnread;
    this.#report = report;
  }

  settle(fields: Fields, tree: ObjectTree, old: ObjectTree | undefined, path: Path): boolean {
    let isChanged = false;
    for (const [name, field] of fields.members) {
      const isKept = field.isReadOnly && !this.#isAdmin;
      const place = [...path, name];
      const settled = isKept
        ? this.#keep(field, tree.members.get(name), old?.members.get(name), place)
        : this.#fill(field, tree.members.get(name), old?.members.get(name), place);
      if (settled === undefined) continue;
      tree.members.set(name, settled);
      isChanged = true;
    }
    return isChanged;
  }

  /** The value of a read-only field, where it has to be set. */
  #keep(field: Field, given: Tree | undefined, old: Tree | undefined, path: Path) {
    const own = old ?? (field.defaultText === undefined ? undefined : readTree(field.defaultText));
    if (given === undefined) return own && copyTree(own);
    // Who may not read it must not learn by guessing that this is its value.
    const isGuess = this.#isUnread && old !== undefined;
    if (isGuess || own === undefined || !sameTree(given, own))
      this.#report.add(path, old === undefined ? adminOnlySet : adminOnlyChange);
    return undefined;
  }

  /** The value of any other field, where it has to be set. */
  #fill(field: Field, given: Tree | undefined, old: Tree | undefined, path: Path) {
    const { defaultText, inner } = field;
    if (isObject(given)) return this.settle(inner, given, objectOr(old), path) ? given : undefined;
    const kept = this.#carry(inner, objectOr(old));
    if (given === undefined)
      return kept ?? (defaultText === undefined ? undefined : readTree(defaultText));
    if (kept !== undefined) this.#report.add(path, adminOnlyChange);
    const isFilled = typeof given !== "string" && this.#fillItems(inner, given.items, path);
    return isFilled ? given : undefined;
  }

  /** An object that was left out, with what only an administrator may take away. */
  #carry(inner: Fields, old: ObjectTree | undefined): ObjectTree | undefined {
    if (this.#isAdmin || old === undefined || !inner.some(isReadOnly)) return undefined;
    const kept = emptyObject();
    for (const [name, field] of inner.members) {
      const value = old.members.get(name);
      const part = field.isReadOnly ? value : this.#carry(field.inner, objectOr(value));
      if (part !== undefined) kept.members.set(name, copyTree(part));
    }
    return kept.members.size > 0 ? kept : undefined;
  }

  #fillItems({ items: fields, itemsStart }: Fields, items: readonly Tree[], path: Path): boolean {
    let isChanged = false;
    for (const [index, item] of items.entries()) {
      if (index < itemsStart || !isObject(item)) continue;
      if (this.settle(fields, item, undefined, [...path, index])) isChanged = true;
    }
    return isChanged;
  }
}

function hide(fields: Fields, tree: ObjectTree): boolean {
  let isChanged = false;
  for (const [name, { isWriteOnly, inner }] of fields.members) {
    const value = tree.members.get(name);
    const isLess = isWriteOnly ? tree.members.delete(name) : isObject(value) && hide(inner, value);
    isChanged ||= isLess;
  }
  return isChanged;
}

function restore(fields: Fields, tree: ObjectTree, old: ObjectTree): boolean {
  let isChanged = false;
  for (const [name, { isWriteOnly, inner }] of fields.members) {
    const value = tree.members.get(name);
    const before = old.members.get(name);
    if (before === undefined) continue;
    const isMore = isWriteOnly
      ? value === undefined && tree.members.set(name, before) === tree.members
      : isObject(value) && isObject(before) && restore(inner, value, before);
    isChanged ||= isMore;
  }
  return isChanged;
}
