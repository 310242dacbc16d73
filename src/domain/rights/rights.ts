// Explains to administrators whether a subject may do something, by trying it with the code that reads and writes use.

import {
  absent,
  type CallerValues,
  callerValue,
  ownerName,
  textsIn,
} from "../../model/access/caller-values.ts";
import { type Grant, grantsOf } from "../../model/access/grant.ts";
import type { Rules } from "../../model/collection.ts";
import { type Definition, definitionOf } from "../../model/definition.ts";
import { draftOf } from "../../model/draft.ts";
import { isLate } from "../../model/outage.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import { queryableFieldsOf } from "../../model/query/queryable.ts";
import type { Resource } from "../../model/resource.ts";
import type {
  AccessQuery,
  AccessReport,
  ConditionReport,
  GrantReport,
  OwnRights,
} from "../../model/schemas/access-query.ts";
import type { SeenResources } from "../../model/schemas/collection.ts";
import { isAdmin } from "../../model/token.ts";
import type { ResourceChange, Store } from "../../store/store.ts";
import { type Access, requireAdmin } from "../access.ts";
import { CollectionAccess } from "../collection-access.ts";
import { isFor } from "../grant-callers.ts";
import { collectionNotFound } from "../problems.ts";
import type { Resources } from "../resources.ts";
import { type AppliedGrant, View } from "../view.ts";
import { refuse } from "../write/allow.ts";
import { isNew, type Operation, type WriteCondition } from "../write/operation.ts";
import type { Writes } from "../write/writes.ts";
import { ConditionReporter } from "./condition-report.ts";
import { ownRights } from "./own-rights.ts";
import { principalOfSubject } from "./subject.ts";

/** A report without the status, which the protocol has. */
export interface Explanation
  extends Omit<AccessReport, "allowed" | "status" | "detail" | "errors"> {
  /** What the caller is told; undefined when it may. */
  readonly problem: Problem | undefined;
}

/** What a grant is tried with. */
interface Trial {
  readonly query: AccessQuery;
  readonly access: CollectionAccess;
  readonly resource: Resource | undefined;
  readonly values: CallerValues;
  readonly reporter: ConditionReporter;
}

export class Rights {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #access: Access;
  readonly #resources: Resources;
  readonly #writes: Writes;

  constructor(
    store: Store,
    clock: () => number,
    access: Access,
    resources: Resources,
    writes: Writes,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#access = access;
    this.#resources = resources;
    this.#writes = writes;
  }

  /** Returns what the principal may do itself. */
  own(principal: Principal, name: string, id?: string): Promise<OwnRights | Problem> {
    return ownRights(this.#store, this.#access, principal, name, id);
  }

  /** Returns how many resources subjects see in a collection, now and under another definition. */
  async seen(
    principal: Principal,
    name: string,
    definition: string,
    subjects: readonly string[],
  ): Promise<readonly SeenResources[] | Problem> {
    return (
      requireAdmin(principal) ??
      seenResources(this.#store, this.#access, this.#clock(), name, definition, subjects)
    );
  }

  /** Returns whether a subject may do what is asked, and what decides it. */
  async explain(principal: Principal, query: AccessQuery): Promise<Explanation | Problem> {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    const { collection, id } = query;
    const rules = await this.#store.rules(collection);
    if (rules === undefined) return collectionNotFound(collection);
    const caller = await principalOfSubject(this.#store, this.#clock(), query);
    const access = await this.#access.collection(caller, collection);
    const problem = await this.#try(access, query);
    const { subject, scopes, roles } = caller;
    const who = { ...(subject !== undefined && { subject }), scopes, roles };
    if (isAdmin(caller)) return { problem, ...who, grants: [] };
    const resource = id === undefined ? undefined : await this.#store.find(collection, id);
    const trial = await this.#trial(query, access, rules, resource);
    const { boundary } = definitionOf(rules);
    const tried: TriedGrant[] = [];
    for (const grant of grantsOf(definitionOf(rules), query.verb))
      tried.push(await this.#explainGrant(trial, grant, boundary));
    const grants = tried.map(({ report }) => report);
    const decisive = grants.find(({ allows }) => allows);
    const state = resource ?? tried.find(({ after }) => after)?.after;
    return {
      problem,
      ...who,
      ...(problem === undefined && decisive && { grant: decisive.name }),
      ...(boundary && state && { boundary: await trial.reporter.report(boundary, state) }),
      grants,
    };
  }

  async #trial(
    query: AccessQuery,
    access: CollectionAccess,
    rules: Rules,
    resource: Resource | undefined,
  ): Promise<Trial> {
    const { compiler } = this.#access;
    const values = await compiler.values(access.principal, rules);
    const queryable = queryableFieldsOf(rules.definition);
    const reporter = new ConditionReporter(this.#store, queryable, values, compiler.related());
    return { query, access, resource, values, reporter };
  }

  /** Returns the problem that the caller would get. */
  async #try(access: CollectionAccess, query: AccessQuery): Promise<Problem | undefined> {
    const { verb, id, change } = query;
    if (verb === "read" || (verb === "update" && change === undefined)) {
      if (id === undefined) return access.require(verb);
      const found = await this.#resources.find(access, id, verb);
      if (found instanceof Problem || verb === "read") return problemIn(found);
      return access.decide(() => refuse(access, verb, found.resource));
    }
    const operation = operationOf(query);
    if (operation === undefined) return access.require(verb);
    return problemIn(await this.#writes.plan(access, operation));
  }

  /** Tries a grant as if it were the only one. */
  async #explainGrant(
    trial: Trial,
    grant: Grant,
    boundary: Definition["boundary"],
  ): Promise<TriedGrant> {
    const { access, values, reporter, resource } = trial;
    const { verb } = trial.query;
    const { name, to, check, set } = grant;
    const owned = to === "owner" ? { [ownerName]: "$me" } : {};
    const named = new Set([boundary, owned, grant.where, check, set].flatMap(textsIn));
    const missing = [...named].filter(
      (text) => text !== ownerName && callerValue(text, values) === absent,
    );
    const one = access.caller.views[verb]?.grants.find((each) => each.name === name);
    const { allows = false, errors, after } = one ? await this.#tryGrant(trial, one) : {};
    const where: ConditionReport[] = [];
    for (const condition of [owned, grant.where ?? {}])
      if (resource) where.push(...(await reporter.report(condition, resource)));
    const report = {
      name,
      to: isFor(access.principal, access.name, verb, grant),
      ...(missing.length > 0 && { missing }),
      ...(where.length > 0 && { where }),
      ...(errors && { errors }),
      ...(after && check && { check: await reporter.report(check, after) }),
      allows,
    };
    return { report, after };
  }

  async #tryGrant(
    { access, query, resource }: Trial,
    grant: AppliedGrant,
  ): Promise<{ allows: boolean; errors?: Problem["errors"]; after?: Resource | undefined }> {
    const { principal, name, rules, caller } = access;
    const { verb, change } = query;
    const accessBy = (one: AppliedGrant) => {
      const views = { ...caller.views, [verb]: new View([one]) };
      return new CollectionAccess(principal, name, rules, { ...caller, views });
    };
    const operation = change && operationOf(query);
    if (operation === undefined || caller.writesWhole) {
      const own = accessBy(grant);
      const isAny = resource === undefined;
      return { allows: isAny || !(await own.decide(() => refuse(own, verb, resource))) };
    }
    const planned = await this.#writes.plan(accessBy(grant), operation);
    const unchecked = await this.#writes.plan(accessBy({ ...grant, check: undefined }), operation);
    return {
      allows: !(planned instanceof Problem),
      ...(unchecked instanceof Problem
        ? { errors: unchecked.errors }
        : { after: stateAfter(unchecked, resource) }),
    };
  }
}

const problemIn = (result: unknown): Problem | undefined =>
  result instanceof Problem ? result : undefined;

/** What was found about a grant, and the state that the change leaves under it. */
interface TriedGrant {
  readonly report: GrantReport;
  readonly after: Resource | undefined;
}

function stateAfter(change: ResourceChange, before: Resource | undefined): Resource | undefined {
  if (change.kind !== "put") return undefined;
  const { id, at: updatedAt, fields } = change;
  const owner = (before ?? change).owner;
  const createdAt = before?.createdAt ?? updatedAt;
  return { id, fields, revision: 0, createdAt, updatedAt, ...(owner !== undefined && { owner }) };
}

/** A collection may require a precondition. */
const condition: WriteCondition = Object.assign(() => true, { isByTag: true });

/** Returns undefined when nothing is written. */
function operationOf({ verb, id, change }: AccessQuery): Operation | undefined {
  if (verb === "delete") return id === undefined ? undefined : { kind: "remove", id, condition };
  if (change === undefined || verb === "read") return undefined;
  const text = JSON.stringify(change);
  if (verb === "update")
    return id === undefined
      ? undefined
      : { kind: "patch", id, patchKind: "merge", patch: text, condition };
  const draft = draftOf(text);
  if (!("fields" in draft)) throw new Error("a JSON object must be a draft");
  // What is there would be replaced by the grants of update.
  return id === undefined
    ? { kind: "create", draft }
    : { kind: "put", id, draft, condition: isNew };
}

/** The first entry is about callers without a token. */
async function seenResources(
  store: Store,
  access: Access,
  now: number,
  name: string,
  definition: string,
  subjects: readonly string[],
): Promise<readonly SeenResources[]> {
  const [before, after] = [await store.rules(name), { version: 0, definition }];
  const seen: SeenResources[] = [];
  const end = performance.now() + maxCountMs;
  const count = (caller: Principal, rules: Rules): Promise<number | null> =>
    performance.now() < end
      ? countSeen(store, access, caller, name, rules).catch(nullIfLate)
      : Promise.resolve(null);
  for (const subject of [undefined, ...subjects]) {
    const caller = await principalOfSubject(store, now, { subject });
    seen.push({
      ...(subject !== undefined && { subject }),
      before: before === undefined ? 0 : await count(caller, before),
      after: await count(caller, after),
    });
  }
  return seen;
}

/** After this time nothing more is counted for a dry run. */
const maxCountMs = 10_000;

function nullIfLate(thrown: unknown): null {
  if (isLate(thrown)) return null;
  throw thrown;
}

/** Returns null when there are too many to count. Rejects with an Outage at the deadline of queries. */
async function countSeen(
  store: Store,
  access: Access,
  caller: Principal,
  name: string,
  rules: Rules,
): Promise<number | null> {
  const opened = await access.byRules(caller, name, rules);
  if (opened.require("read") !== undefined) return 0;
  const { predicate } = opened.view("read");
  if (predicate === undefined) return (await store.collection(name))?.total ?? 0;
  const found = await store.query(name, {
    conditions: [predicate],
    words: [],
    sortings: [],
    isNewestFirst: false,
    start: 0,
    limit: 1,
    isCounted: true,
  });
  return found === undefined ? 0 : (found.total ?? null);
}
