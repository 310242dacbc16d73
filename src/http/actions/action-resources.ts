// Creates the resources object of an action: reads and writes with the permissions of its caller.

import type { CollectionAccess, CollectionPermission } from "../../domain/collection-access.ts";
import type { ListResult, PlannedList } from "../../domain/lists.ts";
import type { Mask } from "../../domain/mask.ts";
import { collectionNotFound } from "../../domain/problems.ts";
import type { WriteCondition, Written } from "../../domain/write/operation.ts";
import { ProblemError } from "../../model/action.ts";
import type {
  ActionResources,
  BatchResult,
  CreateOptions,
  Precondition,
  Representation,
  ResourceAnswer,
  ResourceList,
  WriteAnswer,
} from "../../model/action-resources.ts";
import { isCollectionName } from "../../model/id.ts";
import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { idInPost, readFields, readText, tooLarge } from "../body/content.ts";
import { allOf, etagOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";
import { idempotencyKeyOf, readKeyField } from "../headers/idempotency-key.ts";
import type { RequestContext, Services } from "../request/context.ts";
import { problemAt, resultsOf } from "../resources/batch.ts";
import { readOperations } from "../resources/batch-operations.ts";
import { listBody } from "../resources/list-page.ts";
import { readQueryBody } from "../resources/query-body.ts";
import { stoppedProblem } from "../resources/read-list.ts";
import { checkOptions, rejectUndefined } from "./options.ts";

/** After the signal is aborted, every call throws. */
export function createActionResources(
  context: RequestContext,
  signal: AbortSignal,
): ActionResources {
  const client = new ActionClient(context, signal);
  // Each has its client, so that an action can destructure the object.
  return {
    create: client.create.bind(client),
    get: client.get.bind(client),
    list: client.list.bind(client),
    put: client.put.bind(client),
    patch: client.patch.bind(client),
    remove: client.remove.bind(client),
    batch: client.batch.bind(client),
  };
}

class ActionClient implements ActionResources {
  readonly #context: RequestContext;
  readonly #services: Services;
  readonly #principal: Principal;
  readonly #signal: AbortSignal;

  constructor(context: RequestContext, signal: AbortSignal) {
    this.#context = context;
    this.#services = context.services;
    this.#principal = context.principal;
    this.#signal = signal;
  }

  async create(name: string, fields: object, options: CreateOptions = {}): Promise<WriteAnswer> {
    const access = await this.#open(name, "create");
    const bytes = this.#bytes(fields);
    const draft = orThrow(readFields(bytes));
    if (draft.id !== undefined) throw new ProblemError(idInPost);
    const once = this.#once(options, `/${name}`, bytes);
    const operation = { kind: "create", draft } as const;
    return this.#written(await this.#services.writes.run(access, operation, once));
  }

  async get(name: string, id: string): Promise<ResourceAnswer> {
    const access = await this.#open(name, "read", id);
    const { resource, mask } = orThrow(await this.#services.resources.find(access, id));
    return {
      status: 200,
      location: this.#locationOf(name, resource),
      etag: etagOf(resource, mask),
      body: this.#body(name, resource, mask),
    };
  }

  async list(name: string, query: object = {}): Promise<ResourceList> {
    const access = await this.#open(name, "read");
    const { lists, expander, base } = this.#services;
    if ("where" in query) rejectUndefined(query.where, "where");
    const target = orThrow(await lists.target(access));
    const listRequest = orThrow(readQueryBody(orThrow(readText(this.#bytes(query)))));
    const planned = orThrow(await lists.plan(target, listRequest));
    const listed = orThrow(await this.#read(planned));
    const expanded = orThrow(await expander.expand(listed));
    return JSON.parse(listBody(listed, `${base}/${name}`, expanded));
  }

  async #read(planned: PlannedList): Promise<ListResult | Problem> {
    const startedAt = performance.now();
    try {
      return await this.#services.lists.read(planned);
    } catch (thrown) {
      return stoppedProblem(this.#context, planned, thrown, performance.now() - startedAt);
    }
  }

  async put(
    name: string,
    id: string,
    fields: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    const access = await this.#open(name, "put", id);
    const draft = orThrow(readFields(this.#bytes(fields)));
    const operation = { kind: "put", id, draft, condition: conditionOf(precondition) } as const;
    return this.#written(await this.#services.writes.run(access, operation));
  }

  async patch(
    name: string,
    id: string,
    patch: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    const access = await this.#open(name, "update", id);
    const text = orThrow(readText(this.#bytes(patch)));
    const patchKind = Array.isArray(patch) ? "json" : "merge";
    const condition = conditionOf(precondition);
    const operation = { kind: "patch", id, patchKind, patch: text, condition } as const;
    return this.#written(await this.#services.writes.run(access, operation));
  }

  async remove(name: string, id: string, precondition?: Precondition): Promise<void> {
    const access = await this.#open(name, "delete", id);
    const condition = conditionOf(precondition);
    orThrow(await this.#services.writes.run(access, { kind: "remove", id, condition }));
  }

  /** Each operation checks its own permission. */
  async batch(
    operations: readonly unknown[],
    options: CreateOptions = {},
  ): Promise<readonly BatchResult[]> {
    this.#signal.throwIfAborted();
    const { writes, base } = this.#services;
    // A field of a body may be undefined: it is not sent.
    for (const [index, operation] of Object.entries(operations))
      rejectUndefined({ ...Object(operation), body: null }, `operations[${index}]`);
    const bytes = this.#bytes({ operations });
    const read = orThrow(readOperations(bytes));
    const once = this.#once(options, "/-/batch", bytes);
    const done = orThrow(await writes.runAll(this.#principal, read, once));
    if ("index" in done) throw new ProblemError(problemAt(done));
    return (await resultsOf(base, done)).map((result) => JSON.parse(result));
  }

  /** Asks for the same permission as the route of the same request over HTTP. */
  async #open(
    name: string,
    permission: CollectionPermission,
    ...ids: readonly string[]
  ): Promise<CollectionAccess> {
    this.#signal.throwIfAborted();
    // An action need not be checked by a compiler, and the store would keep a number as another text.
    if ([name, ...ids].some((each) => typeof each !== "string"))
      throw new TypeError("the name of a collection and an id must be strings");
    if (!isCollectionName(name)) throw new ProblemError(collectionNotFound(name));
    const { access } = this.#services;
    // The action can run longer than its caller has its rights.
    const principal = orThrow(await access.callers.renew(this.#principal));
    const opened = await access.open(principal, name, permission);
    this.#signal.throwIfAborted();
    return orThrow(opened);
  }

  /** Returns the body as HTTP would receive it, within the same limit. */
  #bytes(value: unknown): Uint8Array {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`a ${typeof value} cannot be stored`);
    const bytes = Buffer.from(text);
    const { maxBodyBytes } = this.#services;
    if (bytes.byteLength > maxBodyBytes) throw new ProblemError(tooLarge(maxBodyBytes));
    return bytes;
  }

  #once(options: CreateOptions, path: string, body: Uint8Array): IdempotencyKey | undefined {
    checkOptions(options, ["idempotencyKey"]);
    const { idempotencyKey: key } = options;
    if (key === undefined) return undefined;
    orThrow(readKeyField(JSON.stringify(key)));
    const request = { request: { method: "POST" }, path, query: "", principal: this.#principal };
    return idempotencyKeyOf({ ...request, services: this.#services }, key, body);
  }

  /** A caller who may not read the resource gets no body, as over HTTP. */
  async #written(written: Written | Problem): Promise<WriteAnswer> {
    const { isNew, resource, access } = orThrow(written);
    const { name } = access;
    const mask = await access.mask(resource);
    const shown = mask ?? access.writtenMask;
    const answer = {
      location: this.#locationOf(name, resource),
      ...(shown && { etag: etagOf(resource, shown) }),
    };
    return mask
      ? { status: isNew ? 201 : 200, ...answer, body: this.#body(name, resource, mask) }
      : { status: isNew ? 201 : 204, ...answer };
  }

  #locationOf(name: string, { id }: Resource): string {
    return `${this.#services.base}/${name}/${id}`;
  }

  #body(name: string, resource: Resource, mask: Mask): Representation {
    return JSON.parse(mask.render(resource, `${this.#services.base}/${name}`));
  }
}

/** Returns the value, or throws when it is a problem. */
function orThrow<T>(value: T): Exclude<T, Problem> {
  if (value instanceof Problem) throw new ProblemError(value);
  return value as Exclude<T, Problem>;
}

function conditionOf(options: Precondition = {}): WriteCondition | undefined {
  checkOptions(options, ["ifMatch", "ifNoneMatch"]);
  const { ifMatch: match, ifNoneMatch: noneMatch } = options;
  return allOf(orThrow(ifMatch(match ?? null)), orThrow(ifNoneMatch(noneMatch ?? null)));
}
