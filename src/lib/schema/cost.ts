// What a schema costs to judge by: none may lead back to itself, or judge one value over and over.

import type { ErrorReport, Path } from "../json/error-report.ts";
import {
  isObjectSchema,
  type ObjectSchema,
  type References,
  type SchemaLocation,
  subschemasOf,
} from "./subschemas.ts";

export const costLimits = {
  /** Schemas one after another that judge the same value. */
  maxDepth: 32,
  /** Schemas in all that judge the same value for one schema. */
  maxSame: 1000,
  /** How many times one value may be judged by all schemas above it. */
  maxTimes: 100,
} as const;

const endless = "this leads back to itself without going deeper into the value";
const tooMany =
  "too many schemas judge the same value here; take some out of allOf, anyOf, oneOf or $ref";
const manifold =
  "a nested value would be judged over and over, more often with every level; let one field lead back here once";

/** Whether all is well. */
export function checkCost(
  root: ObjectSchema,
  path: Path,
  references: References,
  report: ErrorReport,
): boolean {
  const before = report.errors.length;
  const cost = new Cost(path, references, report);
  cost.visit({ path, schema: root });
  if (report.errors.length === before) cost.judgeTimes();
  return report.errors.length === before;
}

/** What a schema leads to inside a value: for each slot the schemas that judge it, and how often. */
type Slots = ReadonlyMap<string, ReadonlyMap<ObjectSchema, number>>;

interface Weight {
  readonly place: SchemaLocation;
  readonly depth: number;
  readonly same: number;
  readonly slots: Slots;
}

class Cost {
  readonly #root: Path;
  readonly #references: References;
  readonly #report: ErrorReport;
  /** Null while it is being weighed. */
  readonly #weights = new Map<ObjectSchema, Weight | null>();
  readonly #open: SchemaLocation[] = [];
  readonly #told = new Set<string>();
  readonly #reached = new Map<ObjectSchema, ReadonlySet<ObjectSchema>>();

  constructor(root: Path, references: References, report: ErrorReport) {
    this.#root = root;
    this.#references = references;
    this.#report = report;
  }

  /** Weighs a schema and all that it leads to. */
  visit(place: SchemaLocation): void {
    this.#open.push(place);
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const isNew = isObjectSchema(next.schema) && !this.#weights.has(next.schema);
      if (isNew) this.#weigh(next);
    }
  }

  /** Undefined for what weighs nothing or was told of. */
  #weigh(place: SchemaLocation): Weight | undefined {
    const { schema } = place;
    if (!isObjectSchema(schema)) return undefined;
    const known = this.#weights.get(schema);
    if (known === null) this.#tell(place.path, endless);
    if (known !== undefined) return known ?? undefined;
    this.#weights.set(schema, null);
    this.#open.push(...subschemasOf(place).filter(({ applies }) => applies === "child"));
    const weight = this.#add(
      place,
      this.#sameValue(place).flatMap((part) => this.#weigh(part) ?? []),
    );
    this.#weights.set(schema, weight);
    if (weight.depth > costLimits.maxDepth || weight.same > costLimits.maxSame)
      this.#tell(place.path, tooMany);
    return weight;
  }

  /** The schemas that judge the same value. */
  #sameValue(place: SchemaLocation): readonly SchemaLocation[] {
    const parts = subschemasOf(place).filter(({ applies }) => applies === "in-place");
    const target = isObjectSchema(place.schema) && this.#references.find(place.schema.$ref);
    return target ? [...parts, { ...target, path: [...this.#root, ...target.path] }] : parts;
  }

  #add(place: SchemaLocation, parts: readonly Weight[]): Weight {
    const slots = new Map<string, Map<ObjectSchema, number>>();
    const put = (slot: string, schema: ObjectSchema, times: number): void => {
      const targets = slots.get(slot) ?? new Map<ObjectSchema, number>();
      slots.set(slot, targets.set(schema, (targets.get(schema) ?? 0) + times));
    };
    for (const { path, schema, keyword, applies } of subschemasOf(place))
      if (applies === "child" && isObjectSchema(schema) && keyword !== "propertyNames")
        put(slotOf(keyword, String(path.at(-1))), schema, 1);
    for (const part of parts)
      for (const [slot, targets] of part.slots)
        for (const [schema, times] of targets) put(slot, schema, times);
    return {
      place,
      depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
      same: 1 + parts.reduce((sum, { same }) => sum + same, 0),
      slots,
    };
  }

  /** How often one value may be judged, which grows with every level if a schema leads back in two ways. */
  judgeTimes(): void {
    const times = new Map<ObjectSchema, number>();
    const count = (schema: ObjectSchema): number => {
      const known = times.get(schema);
      if (known !== undefined) return known;
      let most = 1;
      for (const targets of eachSlot(this.#weights.get(schema)?.slots ?? new Map())) {
        const back = [...targets].filter(([target]) => this.#leadsTo(target, schema));
        const isManifold = back.reduce((sum, [, number]) => sum + number, 0) > 1;
        if (isManifold) this.#fault(schema);
        const rest = [...targets].filter(([target]) => !back.some(([each]) => each === target));
        const sum = rest.reduce((total, [target, number]) => total + number * count(target), 0);
        most = Math.max(most, sum + (back.length > 0 ? 1 : 0));
      }
      times.set(schema, most);
      if (most > costLimits.maxTimes) this.#fault(schema);
      return Math.min(most, costLimits.maxTimes + 1);
    };
    for (const schema of this.#weights.keys()) count(schema);
  }

  #fault(schema: ObjectSchema): void {
    this.#tell(this.#weights.get(schema)?.place.path ?? this.#root, manifold);
  }

  /** Once: whatever leads to the place has the same fault. */
  #tell(path: Path, words: string): void {
    if (!this.#told.has(words)) this.#report.add(path, words);
    this.#told.add(words);
  }

  #leadsTo(from: ObjectSchema, to: ObjectSchema): boolean {
    const known = this.#reached.get(from) ?? this.#reach(from);
    this.#reached.set(from, known);
    return known.has(to);
  }

  #reach(from: ObjectSchema): ReadonlySet<ObjectSchema> {
    const reached = new Set([from]);
    for (const schema of reached)
      for (const targets of this.#weights.get(schema)?.slots.values() ?? [])
        for (const target of targets.keys()) reached.add(target);
    return reached;
  }
}

/** Members by name, all other members, and items: what is in one slot may judge one value. */
function slotOf(keyword: string, name: string): string {
  if (keyword === "properties") return `.${name}`;
  return /items$|contains/i.test(keyword) ? "[]" : "*";
}

/** A pattern may take a name that is also declared, so what judges any member judges each. */
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
