// Validates fields against a collection's schema, fills in defaults, protects read-only fields and hides write-only ones.

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
import { hide } from "./write-only.ts";

export interface ResourceValidator {
  /** Whether there are write-only fields. */
  readonly hasHidden: boolean;
  /** Whether the stored state affects the validation of its replacement. */
  readonly dependsOnStored: boolean;
  /** The names of the declared members that are not write-only. */
  readonly shownMembers: readonly string[];
  /** The members that are files, which only an upload sets. */
  readonly fileMembers: readonly string[];
  /** Whether the field at a path with dots, or one that contains it, is write-only. */
  isHidden(field: string): boolean;
  /** Whether only an administrator may set the field at these names or one that contains it. */
  isReadOnly(names: readonly string[]): boolean;
  /** Whether only an administrator may set the member or something in it. */
  holdsReadOnly(name: string): boolean;
  /**
   * Returns the text to store, or all errors. `fields` is the compact text of an object that passed the
   * JSON scan, `before` the stored text that it replaces. The text is returned unchanged when nothing is
   * filled in. With `isUnread` the caller may not read the stored state, and no result depends on it.
   */
  accept(
    fields: string,
    before: string | undefined,
    isAdmin: boolean,
    isUnread?: boolean,
  ): string | readonly FieldError[];
  /** The fields without the write-only ones. */
  visible(fields: string): string;
  /** Adds the write-only fields of `before` that are missing, for a text that was made from the visible fields. */
  withHidden(fields: string, before: string): string;
}

const openValidator: ResourceValidator = {
  hasHidden: false,
  dependsOnStored: false,
  shownMembers: [],
  fileMembers: [],
  isHidden: () => false,
  isReadOnly: () => false,
  holdsReadOnly: () => false,
  accept: (fields) => fields,
  visible: (fields) => fields,
  withHidden: (fields) => fields,
};

const cache = new WeakMap<Definition, ResourceValidator>();

/** Cached per definition object. */
export function validatorOf(definition: Definition): ResourceValidator {
  if (definition.schema === undefined) return openValidator;
  const cached = cache.get(definition);
  if (cached !== undefined) return cached;
  const validator = new SchemaResourceValidator(definition.schema);
  cache.set(definition, validator);
  return validator;
}

const adminOnlySet = "only an administrator may set this";
export const adminOnlyChange = "only an administrator may change this";

class SchemaResourceValidator implements ResourceValidator {
  readonly hasHidden: boolean;
  readonly dependsOnStored: boolean;
  readonly fileMembers: readonly string[];
  readonly #compiled: CompiledSchema;
  readonly #fields: Fields;
  /** Whether there are defaults or read-only fields. */
  readonly #needsCompletion: boolean;

  constructor(schema: ObjectSchema) {
    this.#compiled = new CompiledSchema(schema);
    this.#fields = fieldsOf(schema, this.#compiled.references);
    this.hasHidden = this.#fields.some(isWriteOnly);
    const members = [...this.#fields.members];
    this.fileMembers = members.filter(([, { isFile }]) => isFile).map(([name]) => name);
    this.dependsOnStored =
      this.hasHidden || this.fileMembers.length > 0 || this.#fields.some(isReadOnly);
    this.#needsCompletion = this.#fields.some(
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

  holdsReadOnly(name: string): boolean {
    const field = this.#fields.members.get(name);
    return field !== undefined && (field.isReadOnly || field.inner.some(isReadOnly));
  }

  accept(
    fields: string,
    before: string | undefined,
    isAdmin: boolean,
    isUnread = false,
  ): string | readonly FieldError[] {
    const report = new ErrorReport();
    const completion = new Completion(isAdmin, isUnread, report);
    const text = this.#needsCompletion ? this.#completed(fields, before, completion) : fields;
    const value = this.#compiled.parse(text);
    if (!this.#compiled.isValid(value)) explain(this.#compiled, value, [], report);
    return report.errors.length > 0 ? report.errors : text;
  }

  #completed(fields: string, before: string | undefined, completion: Completion): string {
    const tree = readTree(fields);
    const old = before === undefined ? undefined : readTree(before);
    if (!isObject(tree)) return fields;
    const isChanged = completion.complete(this.#fields, tree, objectOr(old), []);
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

/** Fills in defaults and restores read-only fields. */
class Completion {
  readonly #isAdmin: boolean;
  readonly #isUnread: boolean;
  readonly #report: ErrorReport;

  constructor(isAdmin: boolean, isUnread: boolean, report: ErrorReport) {
    this.#isAdmin = isAdmin;
    this.#isUnread = isUnread;
    this.#report = report;
  }

  complete(fields: Fields, tree: ObjectTree, old: ObjectTree | undefined, path: Path): boolean {
    let isChanged = false;
    for (const [name, field] of fields.members) {
      const isProtected = field.isReadOnly && !this.#isAdmin;
      const fieldPath = [...path, name];
      const completed = isProtected
        ? this.#readOnlyValue(field, tree.members.get(name), old?.members.get(name), fieldPath)
        : this.#writableValue(field, tree.members.get(name), old?.members.get(name), fieldPath);
      if (completed === undefined) continue;
      tree.members.set(name, completed);
      isChanged = true;
    }
    return isChanged;
  }

  /** The value to set for a read-only field, or undefined to leave it. */
  #readOnlyValue(field: Field, given: Tree | undefined, old: Tree | undefined, path: Path) {
    const own = old ?? (field.defaultText === undefined ? undefined : readTree(field.defaultText));
    if (given === undefined) return own && copyTree(own);
    // A caller who may not read the value must not learn it by guessing.
    const isGuess = this.#isUnread && old !== undefined;
    if (isGuess || own === undefined || !sameTree(given, own))
      this.#report.add(path, old === undefined ? adminOnlySet : adminOnlyChange);
    return undefined;
  }

  /** The value to set for any other field, or undefined to leave it. */
  #writableValue(field: Field, given: Tree | undefined, old: Tree | undefined, path: Path) {
    const { defaultText, inner } = field;
    if (isObject(given))
      return this.complete(inner, given, objectOr(old), path) ? given : undefined;
    const retained = this.#retained(inner, objectOr(old));
    if (given === undefined)
      return retained ?? (defaultText === undefined ? undefined : readTree(defaultText));
    if (retained !== undefined) this.#report.add(path, adminOnlyChange);
    const isFilled = typeof given !== "string" && this.#fillItems(inner, given.items, path);
    return isFilled ? given : undefined;
  }

  /** The read-only members of an object that was left out. Only an administrator may remove them. */
  #retained(inner: Fields, old: ObjectTree | undefined): ObjectTree | undefined {
    if (this.#isAdmin || old === undefined || !inner.some(isReadOnly)) return undefined;
    const retained = emptyObject();
    for (const [name, field] of inner.members) {
      const value = old.members.get(name);
      const part = field.isReadOnly ? value : this.#retained(field.inner, objectOr(value));
      if (part !== undefined) retained.members.set(name, copyTree(part));
    }
    return retained.members.size > 0 ? retained : undefined;
  }

  #fillItems({ items: fields, itemsStart }: Fields, items: readonly Tree[], path: Path): boolean {
    let isChanged = false;
    for (const [index, item] of items.entries()) {
      if (index < itemsStart || !isObject(item)) continue;
      if (this.complete(fields, item, undefined, [...path, index])) isChanged = true;
    }
    return isChanged;
  }
}

function restore(fields: Fields, tree: ObjectTree, old: ObjectTree): boolean {
  let isChanged = false;
  for (const [name, { isWriteOnly, inner }] of fields.members) {
    const value = tree.members.get(name);
    const before = old.members.get(name);
    if (before === undefined) continue;
    const isAdded = isWriteOnly
      ? value === undefined && tree.members.set(name, before) === tree.members
      : isObject(value) && isObject(before) && restore(inner, value, before);
    isChanged ||= isAdded;
  }
  return isChanged;
}
