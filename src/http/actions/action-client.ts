// Gives an action access to resources with the caller's permissions and the same checks as over HTTP.

import { requirePermission } from "../../domain/access.ts";
import type { Written } from "../../domain/outcomes.ts";
import type { Condition } from "../../domain/problems.ts";
import { collectionNotFound } from "../../domain/problems.ts";
import { mayRead } from "../../domain/without-read.ts";
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
} from "../../model/action-client.ts";
import type { Rules } from "../../model/collection.ts";
import type { Draft } from "../../model/draft.ts";
import { isCollectionName } from "../../model/id.ts";
import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { Problem } from "../../model/problem.ts";
import { renderFields } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token, Verb } from "../../model/token.ts";
import { idInPost, readFields, readText, tooLarge } from "../body/content.ts";
import type { Services } from "../context.ts";
import { allOf, etagOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";
import { idempotencyKeyOf, readKey } from "../headers/idempotency-key.ts";
import { problemAt, resultsOf } from "../resources/batch.ts";
import { readOperations } from "../resources/batch-operations.ts";
import { listBody } from "../resources/list.ts";
import { readQueryBody } from "../resources/query-body.ts";

/** After the signal is aborted, every call throws. */
export function resourcesFor(
  services: Services,
  caller: Token,
  signal: AbortSignal,
): ActionResources {
  const client = new ActionClient(services, caller, signal);
  // Bound, so that an action can destructure the object.
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
  readonly #services: Services;
  readonly #caller: Token;
  readonly #signal: AbortSignal;

  constructor(services: Services, caller: Token, signal: AbortSignal) {
    this.#services = services;
    this.#caller = caller;
    this.#signal = signal;
  }

  async create(name: string, fields: object, options: CreateOptions = {}): Promise<WriteAnswer> {
    await this.#authorize(name, "create");
    const bytes = this.#bytes(fields);
    const draft = orThrow(readFields(bytes));
    if (draft.id !== undefined) throw new ProblemError(idInPost);
    const once = this.#once(options, `/${name}`, bytes);
    orThrow(await this.#services.resources.target(this.#caller, name));
    const written = await this.#services.resources.create(this.#caller, name, draft, once);
    return this.#written(name, written);
  }

  async get(name: string, id: string): Promise<ResourceAnswer> {
    await this.#authorize(name, "read");
    const { resource, rules } = orThrow(
      await this.#services.resources.find(this.#caller, name, id),
    );
    return {
      status: 200,
      ...this.#locationOf(name, resource, rules),
      body: this.#body(name, resource, rules),
    };
  }

  async list(name: string, query: object = {}): Promise<ResourceList> {
    await this.#authorize(name, "read");
    const { lists, base } = this.#services;
    const target = orThrow(await lists.target(this.#caller, name));
    const listRequest = orThrow(readQueryBody(orThrow(readText(this.#bytes(query)))));
    const listed = orThrow(await lists.read(orThrow(lists.plan(target, listRequest))));
    return JSON.parse(listBody(listed, `${base}/${name}`));
  }

  async put(
    name: string,
    id: string,
    fields: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    await this.#authorize(name, "create", "update");
    const draft: Draft = orThrow(readFields(this.#bytes(fields)));
    const condition = conditionOf(precondition);
    const { resources } = this.#services;
    orThrow(await resources.target(this.#caller, name));
    return this.#written(name, await resources.put(this.#caller, name, id, draft, condition));
  }

  async patch(
    name: string,
    id: string,
    patch: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    await this.#authorize(name, "update");
    const text = orThrow(readText(this.#bytes(patch)));
    const kind = Array.isArray(patch) ? "json" : "merge";
    const condition = conditionOf(precondition);
    const { resources } = this.#services;
    return this.#written(
      name,
      await resources.patch(this.#caller, name, id, kind, text, condition),
    );
  }

  async remove(name: string, id: string, precondition?: Precondition): Promise<void> {
    await this.#authorize(name, "delete");
    const condition = conditionOf(precondition);
    orThrow(await this.#services.resources.remove(this.#caller, name, id, condition));
  }

  /** Each operation checks its own permission. */
  async batch(
    operations: readonly unknown[],
    options: CreateOptions = {},
  ): Promise<readonly BatchResult[]> {
    this.#signal.throwIfAborted();
    const { batches, base } = this.#services;
    const bytes = this.#bytes({ operations });
    const read = orThrow(readOperations(bytes));
    const once = this.#once(options, "/-/batch", bytes);
    const done = orThrow(await batches.run(this.#caller, read, once));
    if ("index" in done) throw new ProblemError(problemAt(done));
    return resultsOf(base, this.#caller, read, done).map((result) => JSON.parse(result));
  }

  /** Requires one of these verbs, like the route of the same request over HTTP. */
  async #authorize(name: string, ...client: readonly Verb[]): Promise<void> {
    this.#signal.throwIfAborted();
    if (!isCollectionName(name)) throw new ProblemError(collectionNotFound(name));
    const rules = await this.#services.resources.rules(name);
    this.#signal.throwIfAborted();
    const problems = client.map((verb) => requirePermission(this.#caller, name, verb, rules));
    const [first] = problems;
    if (problems.every((rejected) => rejected !== undefined)) orThrow(first);
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

  #once(
    { idempotencyKey: key }: CreateOptions,
    path: string,
    body: Uint8Array,
  ): IdempotencyKey | undefined {
    if (key === undefined) return undefined;
    orThrow(readKey(new Headers({ "idempotency-key": JSON.stringify(key) })));
    const request = { request: { method: "POST" }, path, query: "", caller: this.#caller };
    return idempotencyKeyOf(request, key, body);
  }

  /** A caller who may not read the resource gets no body, as over HTTP. */
  #written(name: string, written: Written | Problem): WriteAnswer {
    const { isNew, resource, rules } = orThrow(written);
    const locationOf = this.#locationOf(name, resource, rules);
    return mayRead(this.#caller, name, rules, resource)
      ? { status: isNew ? 201 : 200, ...locationOf, body: this.#body(name, resource, rules) }
      : { status: isNew ? 201 : 204, ...locationOf };
  }

  #locationOf(name: string, resource: Resource, rules: Rules | undefined) {
    const location = `${this.#services.base}/${name}/${resource.id}`;
    return { location, etag: etagOf(resource, rules) };
  }

  #body(name: string, resource: Resource, rules: Rules | undefined): Representation {
    return JSON.parse(renderFields(rules, resource, `${this.#services.base}/${name}`));
  }
}

/** Returns the value, or throws when it is a problem. */
function orThrow<T>(value: T): Exclude<T, Problem> {
  if (value instanceof Problem) throw new ProblemError(value);
  return value as Exclude<T, Problem>;
}

function conditionOf({
  ifMatch: match,
  ifNoneMatch: noneMatch,
}: Precondition = {}): Condition | undefined {
  return allOf(orThrow(ifMatch(match ?? null)), orThrow(ifNoneMatch(noneMatch ?? null)));
}
