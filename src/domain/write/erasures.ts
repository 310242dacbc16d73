// Erases resources, or everything of a subject, so that no trace of them is left.

import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import type { Query } from "../../model/query/query.ts";
import type { ResourceAddress } from "../../model/reference.ts";
import type { Erased, ErasedRows, ScrubOptions, ScrubState } from "../../store/erasure.ts";
import type { Store } from "../../store/store.ts";
import { type Access, requireAdmin } from "../access.ts";
import { ownedBy } from "../owned-by.ts";
import { resourceNotFound } from "../problems.ts";
import { retryOnConflict } from "../retry.ts";
import type { Uploads } from "../uploads.ts";
import { conflictProblem } from "./outcomes.ts";
import { Plan, type PlannedOperation } from "./plan.ts";

export interface EraseRequest {
  readonly targets: readonly ResourceAddress[];
  readonly subject?: string | undefined;
  /** Counts only. */
  readonly isTrial: boolean;
}

/** What was erased, without its content. */
export interface EraseReport {
  readonly collections: readonly ErasedRows[];
  readonly tokens: number;
  readonly files: number;
  /** The size of the files. */
  readonly bytes: number;
}

export interface EraseOptions {
  readonly clock: () => number;
  readonly maxBytes: number;
  /** The addresses of resources begin with it. */
  readonly base: string;
}

const pageLimit = 1_000;
const pageBytes = 8 * 1024 * 1024;

export class Erasures {
  readonly #store: Store;
  readonly #access: Access;
  readonly #uploads: Uploads;
  readonly #options: EraseOptions;

  constructor(store: Store, access: Access, uploads: Uploads, options: EraseOptions) {
    this.#store = store;
    this.#access = access;
    this.#uploads = uploads;
    this.#options = options;
  }

  /** Erases all of it, with what follows from its deletion, or nothing. */
  async erase(principal: Principal, request: EraseRequest): Promise<EraseReport | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    try {
      return await retryOnConflict(() => this.#attempt(principal, request));
    } finally {
      if (!request.isTrial) await this.#uploads.settleAside();
    }
  }

  /** Does one step of the work that removes what was erased from the files of the store. */
  async scrub(principal: Principal, options: ScrubOptions): Promise<ScrubState | Problem> {
    return requireAdmin(principal) ?? this.#store.scrub(options);
  }

  async #attempt(
    principal: Principal,
    { targets, subject, isTrial }: EraseRequest,
  ): Promise<EraseReport | Problem | undefined> {
    const owned = subject === undefined ? [] : await this.#ownedBy(subject);
    const { found, removed } = await this.#look(principal, unique([...targets, ...owned]));
    const plan = this.#plan();
    const planned = await plan.plan(found, true);
    const own = planned.filter((each) => !(each instanceof Problem));
    const problem = planned.find((each) => each instanceof Problem);
    if (problem !== undefined) return problem === resourceNotFound ? undefined : problem;
    const files = plan.states.unusedFiles;
    if (!isTrial) await this.#uploads.setAside(files);
    const changes = [...own, ...plan.states.following];
    const erased = await this.#store.erase({ changes, removed, subject, isTrial });
    return erased.kind === "none" ? conflictProblem(erased, principal) : reportOf(erased, files);
  }

  /** Tells what exists from what may have existed. */
  async #look(principal: Principal, targets: readonly ResourceAddress[]) {
    const names = [...new Set(targets.map(({ collection }) => collection))];
    const opened = names.map(async (name) => this.#access.collection(principal, name));
    const accesses = new Map((await Promise.all(opened)).map((access) => [access.name, access]));
    const found: PlannedOperation[] = [];
    const removed: ResourceAddress[] = [];
    const stored = await Promise.all(
      targets.map(async ({ collection, id }) => this.#store.find(collection, id)),
    );
    for (const [index, target] of targets.entries()) {
      const access = accesses.get(target.collection);
      if (access === undefined || stored[index] === undefined) removed.push(target);
      else found.push({ access, operation: { kind: "remove", id: target.id } });
    }
    return { found, removed };
  }

  async #ownedBy(subject: string): Promise<readonly ResourceAddress[]> {
    const owned: ResourceAddress[] = [];
    for (const { name: collection } of await this.#store.collections())
      for (let start: Query["start"] | undefined = 0; start !== undefined; ) {
        const page = await this.#store.query(collection, queryFor(subject, start));
        owned.push(...(page?.resources ?? []).map(({ id }) => ({ collection, id })));
        start = page?.last;
      }
    return owned;
  }

  #plan(): Plan {
    const { clock, maxBytes, base } = this.#options;
    const limits = { maxBytes, maxCascade: Number.POSITIVE_INFINITY, memory: undefined };
    const context = { key: undefined, at: clock(), base, isBulk: false, ...limits };
    return new Plan(this.#store, this.#access, context);
  }
}

const queryFor = (subject: string, start: Query["start"]): Query => ({
  conditions: [ownedBy(subject)],
  words: [],
  sortings: [],
  isNewestFirst: false,
  start,
  limit: pageLimit,
  isCounted: false,
  maxBytes: pageBytes,
});

const unique = (targets: readonly ResourceAddress[]): readonly ResourceAddress[] => [
  ...new Map(targets.map((target) => [`${target.collection}/${target.id}`, target])).values(),
];

const reportOf = (
  { collections, tokens }: Extract<Erased, { kind: "erased" }>,
  files: readonly { readonly size: number }[],
): EraseReport => ({
  collections,
  tokens,
  files: files.length,
  bytes: files.reduce((sum, { size }) => sum + size, 0),
});
