// A second, plain reading of the rules: what a caller may see of a state, and what it may do with it.

import { type Fields, matches, type Where } from "../random-where.ts";

export type Verb = "read" | "create" | "update" | "delete";

export interface Grant {
  readonly name: string;
  readonly to: string | { readonly scope: string } | { readonly role: string };
  readonly where?: Where;
  readonly check?: Where;
  readonly fields?: readonly string[];
  readonly set?: Fields;
}

export interface Ruled {
  readonly access: Readonly<Partial<Record<Verb, string | readonly Grant[]>>>;
  readonly boundary?: Where;
}

export interface Caller {
  /** An admin passes every rule. */
  readonly isAdmin?: boolean;
  readonly subject?: string;
  readonly roles: readonly string[];
  /** Those of the roles, too. */
  readonly scopes: readonly string[];
  readonly sets: Readonly<Record<string, readonly string[]>>;
}

export interface Stored {
  readonly id: string;
  readonly owner?: string | undefined;
  readonly fields: Fields;
}

/** What a resource refers to, by the name of the reference. */
export type Targets = (stored: Stored) => Readonly<Record<string, Fields | undefined>>;

/** A time between all that the tests store. */
export const now = "2025-06-01T00:00:00.000Z";

const hasScope = ({ scopes }: Caller, wanted: string): boolean => {
  const [collection, verb] = wanted.split(":");
  return scopes.some((scope) => {
    const [of, to] = scope.split(":");
    return (of === "*" || of === collection) && (to === "*" || to === verb);
  });
};

const absent = Symbol("absent");

function valueFor(caller: Caller, operand: unknown): unknown {
  if (Array.isArray(operand)) {
    const all = operand.map((each) => valueFor(caller, each));
    return all.includes(absent) ? absent : all;
  }
  if (typeof operand !== "string" || !operand.startsWith("$")) return operand;
  if (operand.startsWith("$$")) return operand.slice(1);
  if (operand === "$me") return caller.subject ?? absent;
  if (operand === "$me.roles") return caller.roles;
  if (operand === "$now") return now;
  return caller.subject === undefined ? absent : (caller.sets[operand.slice(4)] ?? []);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The condition with the values of the caller, or undefined when the caller does not have one of them. */
export function bound(
  where: Where,
  caller: Caller,
  references: readonly string[],
): Where | undefined {
  const entries: [string, unknown][] = [];
  for (const [name, test] of Object.entries(where)) {
    const parts = name === "$or" || name === "$and";
    const inner = parts
      ? (test as readonly Where[]).map((part) => bound(part, caller, references) ?? absent)
      : isObject(test)
        ? (bound(test, caller, references) ?? absent)
        : valueFor(caller, test);
    if (inner === absent || (parts && (inner as unknown[]).includes(absent))) return undefined;
    // A field of what a resource refers to.
    const isStep = references.includes(name.split(".")[0] ?? "") && name.includes(".");
    entries.push([isStep ? `@${name}` : name, inner]);
  }
  return Object.fromEntries(entries);
}

/** A grant with the values of one caller. */
export interface BoundGrant extends Omit<Grant, "to" | "where" | "check"> {
  readonly where: readonly Where[];
  readonly check: readonly Where[];
}

const shorthands: Readonly<Record<string, readonly Grant[]>> = {
  public: [{ name: "public", to: "everyone" }],
  token: [{ name: "token", to: "token" }],
  owner: [{ name: "owner", to: "owner" }],
};

export class RulesModel {
  readonly #collection: string;
  readonly #rules: Ruled;
  readonly #targets: Targets;
  readonly #references: readonly string[];

  constructor(collection: string, rules: Ruled, references: readonly string[], targets: Targets) {
    this.#collection = collection;
    this.#rules = rules;
    this.#references = references;
    this.#targets = targets;
  }

  /** The grants that can apply to the caller. */
  grants(caller: Caller, verb: Verb): readonly BoundGrant[] {
    if (caller.isAdmin) return [{ name: "admin", where: [], check: [] }];
    const { boundary = {} } = this.#rules;
    return this.#given(verb).flatMap((grant) => {
      if (!this.#isFor(caller, verb, grant)) return [];
      const owned = grant.to === "owner" ? { $owner: "$me" } : {};
      const where = [boundary, owned, grant.where ?? {}].map((each) => this.#bound(each, caller));
      const check = [boundary, grant.check ?? {}].map((each) => this.#bound(each, caller));
      const set = Object.entries(grant.set ?? {}).map(
        ([field, value]) => [field, valueFor(caller, value)] as const,
      );
      const isAbsent =
        [...where, ...check].includes(undefined) || set.some(([, value]) => value === absent);
      if (isAbsent) return [];
      const { name, fields } = grant;
      const named = fields === undefined ? {} : { fields };
      return [
        {
          name,
          ...named,
          where: where as Where[],
          check: check as Where[],
          set: Object.fromEntries(set),
        },
      ];
    });
  }

  #given(verb: Verb): readonly Grant[] {
    const given = this.#rules.access[verb] ?? "token";
    return typeof given === "string" ? (shorthands[given] ?? []) : given;
  }

  #isFor(caller: Caller, verb: Verb, { to }: Grant): boolean {
    if (to === "everyone") return true;
    if (typeof to === "string") return hasScope(caller, `${this.#collection}:${verb}`);
    return "role" in to ? caller.roles.includes(to.role) : hasScope(caller, to.scope);
  }

  #bound(where: Where, caller: Caller): Where | undefined {
    return bound(where, caller, this.#references);
  }

  holds(conditions: readonly Where[], stored: Stored): boolean {
    const targets = Object.entries(this.#targets(stored)).map(([name, target]) => [
      `@${name}`,
      target,
    ]);
    const content = { ...stored.fields, $owner: stored.owner, ...Object.fromEntries(targets) };
    return conditions.every((where) => matches(content, where));
  }

  /** Whether `where` of a grant holds, also where the grant is for others or the boundary does not hold. */
  holdsBefore(caller: Caller, verb: Verb, name: string, stored: Stored): boolean {
    const grant = this.#given(verb).find((each) => each.name === name);
    const owned = grant?.to === "owner" ? { $owner: "$me" } : {};
    const bounds = [owned, grant?.where ?? {}].map((each) => this.#bound(each, caller));
    return bounds.every((each) => each !== undefined && this.holds([each], stored));
  }

  /** The grants that hold for a resource. */
  holding(caller: Caller, verb: Verb, stored: Stored): readonly BoundGrant[] {
    return this.grants(caller, verb).filter(({ where }) => this.holds(where, stored));
  }

  isVisible(caller: Caller, stored: Stored): boolean {
    return this.holding(caller, "read", stored).length > 0;
  }

  /** What is shown of a resource that is visible, with `updatedAt` if the time of its last change is. */
  shown(caller: Caller, stored: Stored): Fields {
    const { fields } = stored;
    const holding = this.holding(caller, "read", stored);
    if (holding.some((grant) => grant.fields === undefined)) return { ...fields, updatedAt: true };
    const paths = [...new Set(holding.flatMap((grant) => grant.fields ?? []))];
    const shown: Record<string, unknown> = {};
    for (const [name, value] of Object.entries({ ...fields, updatedAt: true })) {
      if (paths.includes(name)) shown[name] = value;
      const inner = paths
        .filter((path) => path.startsWith(`${name}.`))
        .map((path) => path.split(".")[1] ?? "");
      if (!(name in shown) && inner.length > 0 && isObject(value))
        shown[name] = Object.fromEntries(
          Object.entries(value).filter(([key]) => inner.includes(key)),
        );
    }
    return shown;
  }

  /** Whether every grant that can apply shows the field, or one shows everything. */
  showsAlways(caller: Caller, field: string): boolean {
    const grants = this.grants(caller, "read");
    const seesAll = grants.some(
      ({ where, fields }) =>
        fields === undefined && where.every((each) => Object.keys(each).length === 0),
    );
    return seesAll || grants.every(({ fields }) => fields?.includes(field) ?? true);
  }

  /** Whether the caller sees it; one who reads nothing in the collection sees what the verb lets it change. */
  #sees(caller: Caller, verb: Verb, stored: Stored): boolean {
    const verbToSee = this.grants(caller, "read").length > 0 ? "read" : verb;
    return this.holding(caller, verbToSee, stored).length > 0;
  }

  #refused = (caller: Caller): Decision => ({ status: caller.subject === undefined ? 401 : 403 });

  create(caller: Caller, id: string, sent: Fields): Decision {
    const grants = this.grants(caller, "create");
    if (grants.length === 0) return this.#refused(caller);
    for (const { name: grant, fields, set = {}, check } of grants) {
      const after = { id, owner: caller.subject, fields: withValues(sent, set) };
      const isFit = leavesOf(sent).every(([path, value]) =>
        path in set ? isSame(value, set[path]) : isIn(path, fields),
      );
      if (isFit && this.holds(check, after)) return { status: 201, after, grant };
    }
    return { status: 403 };
  }

  /** A merge patch without null. */
  update(caller: Caller, stored: Stored, patch: Fields): Decision {
    const grants = this.grants(caller, "update");
    if (grants.length === 0) return this.#refused(caller);
    if (!this.#sees(caller, "update", stored)) return { status: 404 };
    const seen = this.isVisible(caller, stored) ? this.shown(caller, stored) : {};
    const fixed = caller.isAdmin ? [] : this.fixed();
    const leaves = leavesOf(patch);
    const changed = leaves.filter(([path, value]) => !isSame(valueAt(seen, path), value));
    for (const { name: grant, where, fields, set = {}, check } of grants) {
      if (!this.holds(where, stored)) continue;
      const isFit = changed.every(([path, value]) =>
        path in set ? isSame(value, set[path]) : !isIn(path, fixed) && isIn(path, fields),
      );
      const values = { ...Object.fromEntries(leaves), ...set };
      const after = { ...stored, fields: withValues(stored.fields, values) };
      if (isFit && this.holds(check, after)) return { status: 200, after, grant };
    }
    return { status: 403 };
  }

  /** The fields that cannot change: those that the boundary names, with all of an array, and a reference. */
  fixed(): readonly string[] {
    return namesIn(this.#rules.boundary ?? {}).map((name) => {
      const [first = ""] = name.split(/[.[]/);
      return this.#references.includes(first) || name.includes("[]") ? first : name;
    });
  }

  /** The fields that a form may offer: those of the grants, without what is set and what cannot change. */
  offered(grants: readonly BoundGrant[], fixed: readonly string[]): boolean | Offered {
    if (grants.length === 0) return false;
    const fields = new Set<string>();
    for (const grant of grants) {
      if (grant.fields === undefined) return true;
      for (const field of grant.fields)
        if (!isIn(field, fixed) && !isIn(field, Object.keys(grant.set ?? {}))) fields.add(field);
    }
    return { fields: [...fields] };
  }

  remove(caller: Caller, stored: Stored): Decision {
    if (this.grants(caller, "delete").length === 0) return this.#refused(caller);
    if (!this.#sees(caller, "delete", stored)) return { status: 404 };
    const [grant] = this.holding(caller, "delete", stored);
    return grant === undefined ? { status: 403 } : { status: 204, grant: grant.name };
  }

  /** Operations say something about the value before, so the caller must see it. */
  operate(caller: Caller, stored: Stored, patch: Fields): Decision {
    if (this.grants(caller, "update").length === 0) return this.#refused(caller);
    if (!this.#sees(caller, "update", stored)) return { status: 404 };
    if (this.grants(caller, "read").length === 0) return this.#refused(caller);
    const shown = this.shown(caller, stored);
    const isUnseen = Object.keys(patch).some((name) => !(name in shown));
    return isUnseen ? { status: 403 } : this.update(caller, stored, patch);
  }

  /** A PUT to an id that is taken, with `If-None-Match: *`. */
  createAt(caller: Caller, stored: Stored, sent: Fields): Decision {
    const verb = this.#sees(caller, "update", stored) ? "update" : "create";
    if (this.grants(caller, verb).length === 0) return this.#refused(caller);
    if (verb === "update")
      return { status: this.holding(caller, verb, stored).length > 0 ? 412 : 403 };
    const { status } = this.create(caller, stored.id, sent);
    return { status: status === 201 ? 409 : status };
  }

  /** A PUT to an id that is taken. */
  put(caller: Caller, stored: Stored, patch: Fields, sent: Fields): Decision {
    const verbs: readonly Verb[] = ["create", "update"];
    if (verbs.every((verb) => this.grants(caller, verb).length === 0)) return this.#refused(caller);
    if (this.#sees(caller, "update", stored)) return this.update(caller, stored, patch);
    return { status: this.create(caller, stored.id, sent).status === 201 ? 409 : 403 };
  }
}

/** The status of the response, and what is stored after a write that is allowed. */
export interface Decision {
  readonly status: number;
  readonly after?: Stored;
  /** The grant that decided. */
  readonly grant?: string;
}

/** What a caller may write, as an API tells it. */
interface Offered {
  readonly fields: readonly string[];
}

/** The values that are no objects, by their paths. */
const leavesOf = (fields: Fields, outer = ""): readonly (readonly [string, unknown])[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    isObject(value) ? leavesOf(value, `${outer}${name}.`) : [[`${outer}${name}`, value] as const],
  );

const valueAt = (fields: Fields, path: string): unknown =>
  path.split(".").reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), fields);

/** Whether some fields, or all when none are given, have this one or what it is in. */
const isIn = (path: string, fields: readonly string[] | undefined): boolean =>
  fields?.some((field) => path === field || path.startsWith(`${field}.`)) ?? true;

/** The fields with values at some paths. */
function withValues(fields: Fields, values: Fields): Fields {
  const after: Record<string, unknown> = { ...fields };
  for (const [path, value] of Object.entries(values)) {
    const [name = "", ...inner] = path.split(".");
    const own = after[name];
    const next = { [inner.join(".")]: value };
    after[name] = inner.length === 0 ? value : withValues(isObject(own) ? own : {}, next);
  }
  return after;
}

/** The paths that a condition names. */
const namesIn = (where: Where): readonly string[] =>
  Object.entries(where).flatMap(([name, test]) => {
    if (name === "$not") return namesIn(test as Where);
    if (["$or", "$and"].includes(name)) return (test as readonly Where[]).flatMap(namesIn);
    if (name.startsWith("$")) return [];
    return isObject(test) && "some" in test ? [`${name}[]`] : [name];
  });

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
