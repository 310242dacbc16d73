// Finds resources by id or by a unique key, and combines the calls of one turn into one statement.

import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Resource } from "../../model/resource.ts";
import { requireIndex } from "../core/index-build.ts";
import { Damage } from "../core/stored-resource.ts";
import { BatchLoader } from "./batch-loader.ts";
import type { Directory, Versioned } from "./directory.ts";
import type { Pool } from "./pool.ts";
import { type Address, findResources } from "./resource.ts";
import { type Addresses, ResourceLoader } from "./resource-loader.ts";
import { findUniques, type UniqueAddress } from "./unique.ts";

type FoundResource = Resource | Damage;

/** How many calls for several resources each are answered by one statement. */
const maxCallsForSeveral = 8;

export class ResourceFinder {
  readonly #directory: Directory;
  readonly #byId: BatchLoader<Address, Versioned<FoundResource | undefined> | undefined>;
  readonly #several: BatchLoader<
    Addresses,
    Versioned<ReadonlyMap<string, FoundResource>> | undefined
  >;
  readonly #byKey: BatchLoader<UniqueAddress, Versioned<FoundResource | undefined> | undefined>;

  constructor(pool: Pool, directory: Directory) {
    const { size } = pool;
    const loader = new ResourceLoader();
    this.#directory = directory;
    this.#byId = new BatchLoader((all) => pool.read((sql) => findResources(sql, all)), size);
    this.#several = new BatchLoader(
      (all) => pool.read((sql) => loader.load(sql, all)),
      size,
      maxCallsForSeveral,
    );
    this.#byKey = new BatchLoader((all) => pool.read((sql) => findUniques(sql, all)), size);
  }

  async find(collection: string, id: string): Promise<Resource | undefined> {
    return intact(await this.#directory.read(collection, (row) => this.#byId.get({ row, id })));
  }

  async findAll(
    collection: string,
    ids: readonly string[],
  ): Promise<readonly (Resource | undefined)[]> {
    const found = await this.#directory.read(collection, (row) => this.#several.get({ row, ids }));
    return ids.map((id) => intact(found?.get(id)));
  }

  async findUnique(collection: string, entry: IndexEntry): Promise<Resource | undefined> {
    const found = await this.#directory.read(collection, (row) => {
      requireIndex(row.plan, entry.field);
      return this.#byKey.get({ row, ...entry });
    });
    return intact(found);
  }
}

/** Throws when the resource is damaged. */
function intact(found: FoundResource | undefined): Resource | undefined {
  if (found instanceof Damage) throw found;
  return found;
}
