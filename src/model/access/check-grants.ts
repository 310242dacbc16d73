// Checks the grants of a definition: what suits their verb, and the fields that they name. The domain checks conditions.

import { ErrorReport, type Path, pointerTo } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import { type Fields, fieldsOf } from "../../lib/schema/fields.ts";
import { SchemaReferences } from "../../lib/schema/subschemas.ts";
import { undeclaredError } from "../check-field.ts";
import type { Definition } from "../definition.ts";
import { reservedMembers, serverMembers } from "../resource.ts";
import { type Verb, verbs } from "../token.ts";
import { isListName, isValueName, valueError } from "./caller-values.ts";
import { type Grant, grantsOf } from "./grant.ts";
import { fixedFields } from "./rule-fields.ts";

/** Members of a grant that a verb does not have, and why. */
const unsuitable: Readonly<Record<Verb, { readonly [Member in keyof Grant]?: string }>> = {
  read: {
    check: "reading changes nothing; use where",
    set: "reading changes nothing; set is for create and update",
  },
  create: { where: "there is no resource before it is created; use check" },
  update: {},
  delete: {
    check: "there is no resource after it is deleted; use where",
    set: "there is no resource after it is deleted; set is for create and update",
    fields: "a resource is deleted as a whole; fields is for read, create and update",
  },
};

/** What rules can name besides fields. */
export interface RuleNames {
  readonly sets: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
}

/** Adds the errors of the grants of a definition that is valid otherwise. */
export function checkGrants(definition: Definition, names: RuleNames, report: ErrorReport): void {
  for (const verb of verbs) {
    if (typeof definition.access[verb] === "string") continue;
    const checker = new GrantChecker(verb, definition, names, report);
    for (const [index, grant] of grantsOf(definition, verb).entries())
      checker.check(grant, ["access", verb, index]);
  }
}

class GrantChecker {
  readonly #verb: Verb;
  readonly #schema: Definition["schema"];
  readonly #declared: Fields | undefined;
  readonly #boundary: readonly string[];
  readonly #names: RuleNames;
  readonly #report: ErrorReport;
  /** The names of the grants so far. */
  readonly #grants = new Set<string>();

  constructor(verb: Verb, definition: Definition, names: RuleNames, report: ErrorReport) {
    const { schema } = definition;
    this.#verb = verb;
    this.#schema = schema;
    this.#declared = schema && fieldsOf(schema, new SchemaReferences(schema));
    this.#boundary = fixedFields(definition);
    this.#names = names;
    this.#report = report;
  }

  check(grant: Grant, path: Path): void {
    const { name, to, fields = [], set = {} } = grant;
    const others = unsuitable[this.#verb];
    if (this.#grants.has(name))
      this.#report.add([...path, "name"], `two grants have the name ${name}`);
    this.#grants.add(name);
    if (to === "owner" && this.#verb === "create") this.#report.add([...path, "to"], noOwnerYet);
    const { roles } = this.#names;
    if (typeof to === "object" && "role" in to && !roles.has(to.role))
      this.#report.add([...path, "to", "role"], unknownRole(to.role, roles));
    for (const [member, detail] of Object.entries(others))
      if (Object.hasOwn(grant, member)) this.#report.add([...path, member], detail);
    if (others.fields === undefined) this.#checkFields(fields, [...path, "fields"]);
    if (others.set === undefined) this.#checkSet(set, [...path, "set"]);
  }

  #checkFields(fields: readonly string[], path: Path): void {
    for (const [index, field] of fields.entries()) {
      const isRepeated = fields.indexOf(field) < index;
      const error = isRepeated ? "this field is listed twice" : this.#fieldError(field);
      if (error !== undefined) this.#report.add([...path, index], error);
    }
  }

  /** Returns why the field cannot be read, or written. */
  #fieldError(field: string): string | undefined {
    const names = field.split(".");
    const [head = ""] = names;
    const isRead = this.#verb === "read";
    if (field.includes("[]")) return "name the array; its elements belong to it";
    if (reservedMembers.includes(head)) return `${head} is reserved and never stored`;
    if (serverMembers.includes(field))
      return isRead ? undefined : `the server manages ${field}; remove it`;
    if (this.#declared === undefined) return undefined;
    return isRead && this.#declared.at(names)?.isWriteOnly
      ? "this field is writeOnly, so nobody can read it"
      : undeclaredError(this.#declared, names);
  }

  #checkSet(set: Readonly<Record<string, unknown>>, path: Path): void {
    const fields = Object.keys(set);
    for (const [field, value] of Object.entries(set)) {
      const outer = fields.find((other) => field.startsWith(`${other}.`));
      const error =
        outer === undefined ? this.#setError(field, value) : `${outer} is set, and contains this`;
      if (error !== undefined) this.#report.add([...path, field], error);
    }
  }

  #setError(field: string, value: unknown): string | undefined {
    if (this.#verb === "update" && this.#boundary.includes(field))
      return "the boundary names this field, so it cannot change";
    return this.#fieldError(field) ?? this.#valueError(value) ?? this.#typeError(field, value);
  }

  /** Returns why no field can get the value. */
  #valueError(value: unknown): string | undefined {
    if (value === null) return "null is not a value; leave the field out";
    const isNested = typeof value === "object" && JSON.stringify(value).includes('"$');
    return isNested
      ? "inside of a list or an object no text can begin with $"
      : valueError(value, this.#names.sets);
  }

  /** Returns why the schema does not allow the value. The length of what `$me` stands for is not known. */
  #typeError(field: string, value: unknown): string | undefined {
    const names = field.split(".");
    if (isValueName(value)) {
      const types = this.#declared?.at(names)?.inner.types;
      const type = isListName(value) ? "array" : "string";
      return types?.has(type) === false
        ? `${value} is ${isListName(value) ? "a list" : "a string"}, and the schema declares ${[...types].join(" or ")}`
        : undefined;
    }
    if (this.#schema === undefined) return undefined;
    const literal = typeof value === "string" ? value.replace(/^\$\$/, "$") : value;
    const sent = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), literal);
    const report = new ErrorReport();
    checkValue({ ...this.#schema, required: [] }, sent, report);
    const pointer = pointerTo(names);
    return report.errors.find((error) => error.pointer.startsWith(pointer))?.detail;
  }
}

const noOwnerYet = 'a new resource has no owner yet; use "token": who creates it owns it';

const unknownRole = (role: string, roles: ReadonlySet<string>): string =>
  `there is no role ${role}; PUT /-/access defines roles${roles.size === 0 ? "" : `: ${[...roles].join(", ")}`}`;
