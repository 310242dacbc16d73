// Decides which grant allows a write, and returns what will be stored under it.

import { ErrorReport, type Path, pathOfPointer } from "../../lib/json/error-report.ts";
import {
  emptyObject,
  isObject,
  type ObjectTree,
  readTree,
  sameTree,
  type Tree,
  writeTree,
} from "../../lib/json/tree.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import {
  changedPaths,
  type FieldMask,
  isInMask,
  maskOf,
  outsideOf,
  reaches,
  valueAt,
  withUnseen,
} from "../../model/access/field-mask.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { addFileMembers, memberOf, readFiles } from "../../model/file.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import { IndexedContent } from "../../model/query/index-plan.ts";
import { holds } from "../../model/query/predicate.ts";
import { addressesIn, referencesOf } from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import type { Verb } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import { acceptFields, type WriteTarget } from "../../model/write/accept.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { type AppliedGrant, isNamed } from "../view.ts";
import { seenDraft, seenFields } from "./seen.ts";
import { plannedState } from "./states.ts";
import { type Accepted, accept } from "./validate.ts";
import { concealed } from "./without-read.ts";

/** Where and when a representation is written. */
export interface WriteContext extends Omit<WriteTarget, "set"> {
  readonly id: string;
  readonly at: number;
  readonly current: Resource | undefined;
}

/** Returns what will be stored, or a problem with all errors. Without `current` it creates a resource. */
export function acceptWrite(
  access: CollectionAccess,
  fields: string,
  place: WriteContext,
): Accepted | Problem {
  const { caller, rules } = access;
  if (caller.writesWhole || rules === undefined) return accept(access, fields, place);
  return new RuledWrite(access, rules, fields, place).accept();
}

/** Returns a problem when no grant lets the caller change or delete a resource that it sees. */
export const refuse = (
  access: CollectionAccess,
  verb: Verb,
  resource: Resource,
): Problem | undefined =>
  access.view(verb).includes(resource, access.facts) ? undefined : forbidden;

/** Whether a grant lets the caller replace this member of a resource that it sees, whatever the values are. */
export const mayChange = (
  access: CollectionAccess,
  resource: Resource,
  member: string,
): MaybePromise<boolean> =>
  access.decide(() =>
    access
      .view("update")
      .holding(resource, access.facts)
      .some(({ fields }) => isNamed(member, fields)),
  );

class RuledWrite {
  readonly #access: CollectionAccess;
  readonly #rules: Rules;
  readonly #fields: string;
  readonly #place: WriteContext;
  /** The document before, with its files. */
  readonly #before: ObjectTree | undefined;
  readonly #seesAll: boolean;
  /** What the caller sees of the document before. */
  readonly #seen: ObjectTree;
  /** The document that the caller sends, with its files. */
  readonly #sent: ObjectTree;
  readonly #changed: readonly (readonly string[])[];

  constructor(access: CollectionAccess, rules: Rules, fields: string, place: WriteContext) {
    const { current, address } = place;
    const before = current && addFileMembers(current.fields, readFiles(current.files), address);
    this.#access = access;
    this.#rules = rules;
    this.#fields = fields;
    this.#place = place;
    this.#before = before === undefined ? undefined : objectIn(before);
    this.#seesAll = current === undefined || seenFields(access, current) === undefined;
    this.#seen = objectIn(current ? seenDraft(access, current, address) : "{}");
    this.#sent = objectIn(fields);
    this.#changed = changedPaths(this.#seen, this.#sent);
  }

  /** The first grant that allows the write decides. */
  accept(): Accepted | Problem {
    const { current } = this.#place;
    const access = this.#access;
    const grants = current
      ? access.view("update").holding(current, access.facts)
      : access.view("create").grants;
    let refusal: Problem | undefined;
    for (const grant of grants) {
      const decided = this.#acceptBy(grant);
      if (!(decided instanceof Problem)) return decided;
      refusal = nearer(refusal, decided);
    }
    return refusal ?? forbidden;
  }

  #acceptBy(grant: AppliedGrant): Accepted | Problem {
    const errors = this.#fieldErrors(grant);
    if (errors.length > 0) return forbiddenFields(errors);
    const { set, check } = grant;
    const target = set === undefined ? this.#place : { ...this.#place, set };
    const accepted = accept(this.#access, this.#complete(), target);
    if (accepted instanceof Problem) return this.#conceal(accepted, target);
    const { id, current, at } = this.#place;
    const after = plannedState(this.#access, id, accepted, current, at);
    const content = new IndexedContent(after, this.#access.facts);
    if (check !== undefined && !holds(check, content)) return forbidden;
    // What the response needs to know is read before the commit, too.
    seenFields(this.#access, after);
    return this.#seesAll ? accepted : { ...accepted, named: this.#namedAddresses() };
  }

  /** What the caller refers to, without what it sees that the resource refers to already. */
  #namedAddresses(): ReadonlySet<string> {
    const references = referencesOf(definitionOf(this.#rules).references);
    if (references.length === 0) return new Set();
    const addresses = (tree: Tree) => addressesIn(references, writeTree(tree));
    return new Set(addresses(this.#sent)).difference(addresses(this.#seen));
  }

  /** What the caller does not see and leaves out stays. */
  #complete(): string {
    if (this.#seesAll) return this.#fields;
    const completed = withUnseen(this.#sent, this.#before, this.#seen);
    const tree = isObject(completed) ? completed : emptyObject();
    this.#completeFiles(tree);
    return writeTree(tree);
  }

  /** A file stays or goes as a whole: no part of its description is left. */
  #completeFiles({ members }: ObjectTree): void {
    const { current } = this.#place;
    const fields = current && seenFields(this.#access, current);
    for (const member of new Set(readFiles(current?.files).map(memberOf))) {
      const [sent, before] = [this.#sent, this.#before].map((tree) => valueAt(tree, [member]));
      const stays =
        sent === undefined ? !isNamed(member, fields) : isSame(sent, valueAt(this.#seen, [member]));
      const value = stays ? before : sent;
      if (value === undefined) members.delete(member);
      else members.set(member, value);
    }
  }

  #fieldErrors({ fields, set = {} }: AppliedGrant): readonly FieldError[] {
    const report = new ErrorReport();
    const mask = maskOf(fields);
    const sets = Object.entries(set).map(([field, value]) => ({
      path: field.split("."),
      value: JSON.stringify(value),
    }));
    for (const { path, value } of sets) {
      if (this.#overrides(path, value)) report.add(path, isSet);
      if (this.#isFixed(path) && !isSame(valueAt(this.#before, path), value))
        report.add(path, isInBoundary);
    }
    for (const path of this.#changed) {
      if (sets.some((each) => isWithin(path, each.path))) continue;
      const forbidden = this.#isFixed(path) ? path : this.#forbidden(path, mask);
      if (forbidden === undefined) continue;
      const isLeftOut = valueAt(this.#sent, forbidden) === undefined;
      const reason = isLeftOut ? mayNotLeaveOut : mayNotChange;
      report.add(forbidden, this.#isFixed(path) ? isInBoundary : reason);
    }
    return report.errors;
  }

  /** A value that the caller read, or that will be set, is no attempt to override. */
  #overrides(path: readonly string[], value: Tree): boolean {
    const sent = valueAt(this.#sent, path);
    if (sent !== undefined) return !isSame(sent, value) && !isSame(sent, valueAt(this.#seen, path));
    // A value that is no object leaves no place for one in it.
    return path.some((_, length) => {
      const outer = valueAt(this.#sent, path.slice(0, length));
      const isPlace = outer === undefined || isObject(outer);
      return !isPlace && !isSame(outer, valueAt(this.#seen, path.slice(0, length)));
    });
  }

  /** Returns the path of what the caller may not write, if it is not all that the grant is for. */
  #forbidden(path: readonly string[], mask: FieldMask | undefined): readonly string[] | undefined {
    if (!validatorOf(definitionOf(this.#rules)).isReadOnly(path)) return outsideOf(mask, path);
    // One that is left out is restored, and another value is not valid. A guess must not succeed.
    const isGuess = this.#before !== undefined && valueAt(this.#seen, path) === undefined;
    return isGuess ? path : undefined;
  }

  /** Whether the boundary names the field, and the resource exists already. */
  #isFixed(path: readonly string[]): boolean {
    return (
      this.#before !== undefined &&
      this.#access.caller.fixedFields.some((field) => {
        const steps = field.split(".");
        return isWithin(path, steps) || isWithin(steps, path);
      })
    );
  }

  /** Shows the errors that there would be without the values that the caller does not see. */
  #conceal(problem: Problem, { address, set }: WriteTarget): Problem {
    const { current } = this.#place;
    if (this.#seesAll || current === undefined || problem.errors === undefined) return problem;
    const seen = { fields: writeTree(this.#seen) };
    const target = { address, current: seen, ...(set && { set }) };
    const alone = acceptFields(this.#rules, this.#fields, false, target);
    const mask = maskOf(seenFields(this.#access, current));
    const isShown = ({ pointer }: FieldError) => {
      const path = pathOfPointer(pointer);
      return reaches(this.#sent, path) || isInMask(mask, path);
    };
    return concealed(problem, "errors" in alone ? alone.errors.filter(isShown) : []);
  }
}

function objectIn(text: string): ObjectTree {
  const tree = readTree(text);
  return isObject(tree) ? tree : emptyObject();
}

const isSame = (one: Tree | undefined, other: Tree | undefined): boolean =>
  one === undefined || other === undefined ? one === other : sameTree(one, other);

/** Whether a path is that of a value, or of one inside it. */
const isWithin = (path: Path, outer: Path): boolean =>
  outer.every((step, index) => path[index] === step);

/** Returns the problem of the grant that would allow the write after the smaller change. */
function nearer(one: Problem | undefined, other: Problem): Problem {
  return one === undefined || rankOf(other) < rankOf(one) ? other : one;
}

/** What is not valid comes first, then what the values are the reason for, then what the fields are. */
const rankOf = ({ kind, errors = [] }: Problem): number =>
  kind === "forbidden" ? errors.length : -1;

const isSet = "the server sets this; leave it out";
const isInBoundary = "this cannot change after the resource was created";
const mayNotChange = "this caller may not write this field";
const mayNotLeaveOut = "this caller may not remove this field";

export const forbidden = new Problem(
  "forbidden",
  "This caller may not do this with this resource. Nothing was changed.",
);

export const forbiddenFields = (errors: readonly FieldError[]): Problem =>
  new Problem(
    "forbidden",
    "This caller may not write all of these fields; `errors` lists them. Nothing was changed.",
    { errors },
  );

/** The id is visible by nature: it cannot be used twice. */
export const takenByOther = new Problem(
  "conflict",
  "This id is taken. Choose another one; nothing was changed.",
);
