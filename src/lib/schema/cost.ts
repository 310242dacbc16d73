// Limits the cost of validation: a schema must not apply itself endlessly or apply too many schemas to one value.

import type { ErrorReport, Path } from "../json/error-report.ts";
import {
  isObjectSchema,
  type ObjectSchema,
  type SchemaLocation,
  type SchemaReferences,
  subschemasOf,
} from "./subschemas.ts";

const costLimits = {
  /** The longest chain of schemas that apply to the same value. */
  maxDepth: 32,
  /** How many schemas one schema may apply to the same value. */
  maxSame: 1000,
  /** How many times one value may be validated by all schemas above it. */
  maxTimes: 100,
} as const;

const endless = "this schema refers back to itself for the same value, which never ends";
const tooMany =
  "too many schemas apply to the same value here; remove some from allOf, anyOf, oneOf or $ref";
const exponential =
  "a nested value would be validated again and again, more often with every level; refer back to this schema only once";
const tooOften = `a value in here would be validated more than ${costLimits.maxTimes} times: every member of patternProperties counts for it, and so does each allOf, anyOf, oneOf and $ref that repeats them; use fewer`;

/** Returns whether the schema is within the limits. */
export function checkCost(
  root: ObjectSchema,
  path: Path,
  references: SchemaReferences,
  report: ErrorReport,
): boolean {
  const before = report.errors.length;
  const cost = new Cost(path, references, report);
  cost.visit({ path, schema: root });
  if (report.errors.length === before) cost.checkRepetition();
  return report.errors.length === before;
}

/** The schemas that apply to each kind of child value, and how often. */
type Slots = ReadonlyMap<string, ReadonlyMap<ObjectSchema, number>>;

interface Weight {
  readonly location: SchemaLocation;
  readonly depth: number;
  readonly schemas: number;
  readonly slots: Slots;
}

class Cost {
  readonly #root: Path;
  readonly #references: SchemaReferences;
  readonly #report: ErrorReport;
  /** Null while the weight is being computed. */
  readonly #weights = new Map<ObjectSchema, Weight | null>();
  readonly #open: SchemaLocation[] = [];
  readonly #reported = new Set<string>();
  readonly #reached = new Map<ObjectSchema, ReadonlySet<ObjectSchema>>();

  constructor(root: Path, references: SchemaReferences, report: ErrorReport) {
    this.#root = root;
    this.#references = references;
    this.#report = report;
  }

  /** Computes the weight of a schema and of all schemas it reaches. */
  visit(location: SchemaLocation): void {
    this.#open.push(location);
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const isNew = isObjectSchema(next.schema) && !this.#weights.has(next.schema);
      if (isNew) this.#weigh(next);
    }
  }

  /** Returns undefined for a boolean schema and for one with a reported error. */
  #weigh(location: SchemaLocation): Weight | undefined {
    const { schema } = location;
    if (!isObjectSchema(schema)) return undefined;
    const known = this.#weights.get(schema);
    if (known === null) this.#addOnce(location.path, endless);
    if (known !== undefined) return known ?? undefined;
    this.#weights.set(schema, null);
    this.#open.push(...subschemasOf(location).filter(({ applies }) => applies === "child"));
    const weight = this.#add(
      location,
      this.#inPlace(location).flatMap((part) => this.#weigh(part) ?? []),
    );
    this.#weights.set(schema, weight);
    if (weight.depth > costLimits.maxDepth || weight.schemas > costLimits.maxSame)
      this.#addOnce(location.path, tooMany);
    return weight;
  }

  /** The schemas that apply to the same value. */
  #inPlace(location: SchemaLocation): readonly SchemaLocation[] {
    const parts = subschemasOf(location).filter(({ applies }) => applies === "in-place");
    const target = isObjectSchema(location.schema) && this.#references.find(location.schema.$ref);
    return target ? [...parts, { ...target, path: [...this.#root, ...target.path] }] : parts;
  }

  #add(location: SchemaLocation, parts: readonly Weight[]): Weight {
    const slots = new Map<string, Map<ObjectSchema, number>>();
    const put = (slot: string, schema: ObjectSchema, times: number): void => {
      const targets = slots.get(slot) ?? new Map<ObjectSchema, number>();
      slots.set(slot, targets.set(schema, (targets.get(schema) ?? 0) + times));
    };
    for (const { path, schema, keyword, applies } of subschemasOf(location))
      if (applies === "child" && isObjectSchema(schema) && keyword !== "propertyNames")
        put(slotOf(keyword, String(path.at(-1))), schema, 1);
    for (const part of parts)
      for (const [slot, targets] of part.slots)
        for (const [schema, times] of targets) put(slot, schema, times);
    return {
      location,
      depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
      schemas: 1 + parts.reduce((sum, { schemas }) => sum + schemas, 0),
      slots,
    };
  }

  /** Checks how often one value is validated. This grows with every level if a schema refers back to itself twice. */
  checkRepetition(): void {
    const times = new Map<ObjectSchema, number>();
    const count = (schema: ObjectSchema): number => {
      const known = times.get(schema);
      if (known !== undefined) return known;
      let most = 1;
      for (const targets of eachSlot(this.#weights.get(schema)?.slots ?? new Map())) {
        const back = [...targets].filter(([target]) => this.#reaches(target, schema));
        const isExponential = back.reduce((sum, [, number]) => sum + number, 0) > 1;
        if (isExponential) this.#addError(schema, exponential);
        const rest = [...targets].filter(([target]) => !back.some(([each]) => each === target));
        const sum = rest.reduce((total, [target, number]) => total + number * count(target), 0);
        most = Math.max(most, sum + (back.length > 0 ? 1 : 0));
      }
      times.set(schema, most);
      if (most > costLimits.maxTimes) this.#addError(schema, tooOften);
      return Math.min(most, costLimits.maxTimes + 1);
    };
    for (const schema of this.#weights.keys()) count(schema);
  }

  #addError(schema: ObjectSchema, message: string): void {
    this.#addOnce(this.#weights.get(schema)?.location.path ?? this.#root, message);
  }

  /** Reports each message once, because every schema that reaches the error has it too. */
  #addOnce(path: Path, message: string): void {
    if (!this.#reported.has(message)) this.#report.add(path, message);
    this.#reported.add(message);
  }

  #reaches(from: ObjectSchema, to: ObjectSchema): boolean {
    const known = this.#reached.get(from) ?? this.#findReached(from);
    this.#reached.set(from, known);
    return known.has(to);
  }

  #findReached(from: ObjectSchema): ReadonlySet<ObjectSchema> {
    const reached = new Set([from]);
    for (const schema of reached)
      for (const targets of this.#weights.get(schema)?.slots.values() ?? [])
        for (const target of targets.keys()) reached.add(target);
    return reached;
  }
}

/** Declared members by name, all other members, and items. Schemas of one slot may apply to the same value. */
function slotOf(keyword: string, name: string): string {
  if (keyword === "properties") return `.${name}`;
  return /items$|contains/i.test(keyword) ? "[]" : "*";
}

/** A pattern may match a declared name, so the schemas for other members count for each declared member. */
function* eachSlot(slots: Slots): Generator<ReadonlyMap<ObjectSchema, number>> {
  const any = slots.get("*") ?? new Map<ObjectSchema, number>();
  for (const [slot, targets] of slots) {
    if (slot === "*" || slot === "[]") yield targets;
    else
      yield new Map([
        ...targets,
        ...[...any].map(([schema, times]) => [schema, times + (targets.get(schema) ?? 0)] as const),
      ]);
  }
}
