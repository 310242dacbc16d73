// The verbs of an action: the same checks, rules and problems as over HTTP, with the caller's own rights.

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
import { Problem } from "../../model/problem.ts";
import { renderFields } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token, Verb } from "../../model/token.ts";
import type { IdempotencyKey } from "../../store/store.ts";
import { idInPost, readFields, readText, tooLarge } from "../body/content.ts";
import type { Services } from "../context.ts";
import { allOf, etagOf, ifMatch, ifNoneMatch } from "../headers/conditional.ts";
import { onceOf, readKey } from "../headers/idempotency-key.ts";
import { maxOperations, problemAt, resultsOf } from "../resources/batch.ts";
import { readOperations } from "../resources/batch-operations.ts";
import { listBody } from "../resources/list.ts";
import { readQueryBody } from "../resources/query-body.ts";

/** After the signal nothing is done any more: the caller was told so. */
export function resourcesFor(
  services: Services,
  caller: Token,
  signal: AbortSignal,
): ActionResources {
  const verbs = new Verbs(services, caller, signal);
  // Each may be taken out of the object.
  return {
    create: verbs.create.bind(verbs),
    get: verbs.get.bind(verbs),
    list: verbs.list.bind(verbs),
    put: verbs.put.bind(verbs),
    patch: verbs.patch.bind(verbs),
    remove: verbs.remove.bind(verbs),
    batch: verbs.batch.bind(verbs),
  };
}

class Verbs implements ActionResources {
  readonly #services: Services;
  readonly #caller: Token;
  readonly #signal: AbortSignal;

  constructor(services: Services, caller: Token, signal: AbortSignal) {
    this.#services = services;
    this.#caller = caller;
    this.#signal = signal;
  }

  async create(name: string, fields: object, options: CreateOptions = {}): Promise<WriteAnswer> {
    await this.#admit(name, "create");
    const bytes = this.#bytes(fields);
    const draft = settled(readFields(bytes));
    if (draft.id !== undefined) throw new ProblemError(idInPost);
    const once = this.#once(options, `/${name}`, bytes);
    settled(await this.#services.resources.target(this.#caller, name));
    const written = await this.#services.resources.create(this.#caller, name, draft, once);
    return this.#written(name, written);
  }

  async get(name: string, id: string): Promise<ResourceAnswer> {
    await this.#admit(name, "read");
    const { resource, rules } = settled(
      await this.#services.resources.find(this.#caller, name, id),
    );
    return {
      status: 200,
      ...this.#named(name, resource, rules),
      body: this.#body(name, resource, rules),
    };
  }

  async list(name: string, query: object = {}): Promise<ResourceList> {
    await this.#admit(name, "read");
    const { lists, base } = this.#services;
    const target = settled(await lists.target(this.#caller, name));
    const listRequest = settled(readQueryBody(settled(readText(this.#bytes(query)))));
    const listed = settled(await lists.read(settled(lists.plan(target, listRequest))));
    return JSON.parse(listBody(listed, `${base}/${name}`));
  }

  async put(
    name: string,
    id: string,
    fields: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    await this.#admit(name, "create", "update");
    const draft: Draft = settled(readFields(this.#bytes(fields)));
    const condition = conditionOf(precondition);
    const { resources } = this.#services;
    settled(await resources.target(this.#caller, name));
    return this.#written(name, await resources.put(this.#caller, name, id, draft, condition));
  }

  async patch(
    name: string,
    id: string,
    patch: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer> {
    await this.#admit(name, "update");
    const text = settled(readText(this.#bytes(patch)));
    const kind = Array.isArray(patch) ? "json" : "merge";
    const condition = conditionOf(precondition);
    const { resources } = this.#services;
    return this.#written(
      name,
      await resources.patch(this.#caller, name, id, kind, text, condition),
    );
  }

  async remove(name: string, id: string, precondition?: Precondition): Promise<void> {
    await this.#admit(name, "delete");
    const condition = conditionOf(precondition);
    settled(await this.#services.resources.remove(this.#caller, name, id, condition));
  }

  /** Who may do what is judged with each operation. */
  async batch(
    operations: readonly unknown[],
    options: CreateOptions = {},
  ): Promise<readonly BatchResult[]> {
    this.#signal.throwIfAborted();
    const { batches, base } = this.#services;
    const bytes = this.#bytes({ operations });
    const read = settled(readOperations(bytes, maxOperations));
    const once = this.#once(options, "/-/batch", bytes);
    const done = settled(await batches.run(this.#caller, read, once));
    if ("index" in done) throw new ProblemError(problemAt(done));
    return resultsOf(base, this.#caller, read, done).map((result) => JSON.parse(result));
  }

  /** What the door of HTTP asks of a collection in the path: one of these verbs must be allowed. */
  async #admit(name: string, ...verbs: readonly Verb[]): Promise<void> {
    this.#signal.throwIfAborted();
    if (!isCollectionName(name)) throw new ProblemError(collectionNotFound(name));
    const rules = await this.#services.resources.rules(name);
    this.#signal.throwIfAborted();
    const refusals = verbs.map((verb) => requirePermission(this.#caller, name, verb, rules));
    const [first] = refusals;
    if (refusals.every((refused) => refused !== undefined)) settled(first);
  }

  /** The body that HTTP would have got, within the same limit. */
  #bytes(value: unknown): Uint8Array {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`a ${typeof value} cannot be kept`);
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
    settled(readKey(new Headers({ "idempotency-key": JSON.stringify(key) })));
    const asked = { request: { method: "POST" }, path, query: "", caller: this.#caller };
    return onceOf(asked, key, body);
  }

  /** Who may not read what was written gets no body, as over HTTP. */
  #written(name: string, written: Written | Problem): WriteAnswer {
    const { isNew, resource, rules } = settled(written);
    const named = this.#named(name, resource, rules);
    return mayRead(this.#caller, name, rules, resource)
      ? { status: isNew ? 201 : 200, ...named, body: this.#body(name, resource, rules) }
      : { status: isNew ? 201 : 204, ...named };
  }

  #named(name: string, resource: Resource, rules: Rules | undefined) {
    const location = `${this.#services.base}/${name}/${resource.id}`;
    return { location, etag: etagOf(resource, rules) };
  }

  #body(name: string, resource: Resource, rules: Rules | undefined): Representation {
    return JSON.parse(renderFields(rules, resource, `${this.#services.base}/${name}`));
  }
}

/** A value, where there is no problem; a problem is thrown. */
function settled<T>(value: T): Exclude<T, Problem> {
  if (value instanceof Problem) throw new ProblemError(value);
  return value as Exclude<T, Problem>;
}

function conditionOf({
  ifMatch: match,
  ifNoneMatch: noneMatch,
}: Precondition = {}): Condition | undefined {
  return allOf(settled(ifMatch(match ?? null)), settled(ifNoneMatch(noneMatch ?? null)));
}
