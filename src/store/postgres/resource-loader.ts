// Finds many resources of a collection at once, and keeps them while the head of their part stays the same.

import type { Resource } from "../../model/resource.ts";
import { ResourceCache } from "../core/resource-cache.ts";
import { Damage } from "../core/stored-resource.ts";
import type { CollectionRow, HeadState } from "./collections.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { resourceOrDamage } from "./resource.ts";
import { type ResourceColumns, resourcesById } from "./row.ts";

export interface Addresses {
  readonly row: CollectionRow;
  readonly ids: readonly string[];
}

type FoundById = ReadonlyMap<string, Resource | Damage>;
type VersionedFound = Versioned<FoundById> | undefined;

const cacheBytes = 16 * 1024 * 1024;

/** The epoch and the revision of a head name one state of its part. */
type HeadVersion = Pick<HeadState, "epoch" | "revision">;

/** Without a resource, the row of the head has no id. */
type LoadedRow = readonly [
  ...(readonly [version: number, revision: number, epoch: number]),
  ...(ResourceColumns | readonly [null]),
];

interface ReadRows extends HeadVersion {
  readonly version: number;
  readonly resources: readonly (Resource | Damage)[];
}

function versioned(
  { version, resources }: ReadRows,
  found: Map<string, Resource | Damage>,
): Versioned<FoundById> {
  for (const resource of resources) found.set(resource.id, resource);
  return { version, value: found };
}

export class ResourceLoader {
  readonly #cache = new ResourceCache(cacheBytes);
  /** The state of which all cached resources of a part are. */
  readonly #states = new WeakMap<CollectionRow, HeadVersion>();

  /** Returns what was found for each, with one statement per part. Undefined where the part was deleted. */
  async load(sql: Sql, asked: readonly Addresses[]): Promise<readonly VersionedFound[]> {
    const byRow = [...Map.groupBy(asked, ({ row }) => row)];
    const found = await allOrFirstError(
      byRow.map(([row, some]) => this.#loadFrom(sql, row, new Set(some.flatMap(({ ids }) => ids)))),
    );
    const ofRow = new Map(byRow.map(([row], index) => [row, found[index]]));
    return asked.map(({ row }) => ofRow.get(row));
  }

  /** Reads only what is not cached; everything when the part has changed since. */
  async #loadFrom(
    sql: Sql,
    row: CollectionRow,
    wanted: ReadonlySet<string>,
  ): Promise<VersionedFound> {
    const known = this.#states.get(row);
    const found = new Map<string, Resource | Damage>();
    const missing: string[] = [];
    for (const id of wanted) {
      const cached = known && this.#cache.find(row.part, id);
      if (cached === undefined) missing.push(id);
      else found.set(id, cached);
    }
    const read = await this.#read(sql, row, missing);
    const isChanged = read?.epoch !== known?.epoch || read?.revision !== known?.revision;
    if (!isChanged || found.size === 0) return read && versioned(read, found);
    const all = await this.#read(sql, row, [...wanted]);
    return all && versioned(all, new Map());
  }

  async #read(sql: Sql, row: CollectionRow, ids: readonly string[]): Promise<ReadRows | undefined> {
    const { part } = row;
    const read = await rows<LoadedRow>(sql`
      SELECT head.version, head.revision, head.epoch, resource.*
      FROM (SELECT version, revision, epoch FROM heads WHERE part = ${part}::bigint) AS head
      LEFT JOIN LATERAL (${resourcesById(sql, part, ids)}) AS resource ON true`);
    const [first] = read;
    if (first === undefined) return undefined;
    const [version, revision, epoch] = first;
    this.#setState(row, { epoch, revision });
    const resources: (Resource | Damage)[] = [];
    for (const [, , , ...columns] of read) {
      if (columns[0] === null) continue;
      const resource = resourceOrDamage(columns as ResourceColumns, { row });
      resources.push(resource);
      if (!(resource instanceof Damage)) this.#cache.add(part, resource);
    }
    return { version, revision, epoch, resources };
  }

  /** Results can arrive in another order than that of their states. */
  #setState(row: CollectionRow, { epoch, revision }: HeadVersion): void {
    const last = this.#states.get(row);
    if (last?.epoch === epoch && last.revision === revision) return;
    this.#cache.deleteAllOf(row.part);
    this.#states.set(row, { epoch, revision });
  }
}
