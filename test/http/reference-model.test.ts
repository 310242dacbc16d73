// Random sequences of requests, compared with a simple model of the API.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "../fast-check.ts";
import type { Json, Operation } from "../model/reference-patch.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";
import {
  type Caller,
  type Change,
  type Condition,
  type ModelRequest,
  ReferenceModel,
  type Result,
} from "./reference-model.ts";

const ids = ["a", "b"] as const;

/**
 * How a condition names a state; only the run knows the tags. Whether a date of now holds depends on how
 * many changes its second has: clocks.test.ts has a model of that.
 */
const condition = fc.constantFrom(
  "none",
  "none",
  "none",
  "match",
  "match",
  "match-stale",
  "match-weak",
  "match-any",
  "match-one-of",
  "none-match-any",
  "none-match",
  "none-match-weak",
  "none-match-stale",
  "modified",
  "match-and-modified",
  "match-and-none-match",
);

const fields = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<Json>(
      {},
      { n: 1 },
      { n: 2, list: [1] },
      { deep: { x: 1, y: [{ z: null }] } },
      { n: null, createdAt: 1, updatedAt: "never" },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<Json>([], null, "text", { id: "a" }, { id: 5 }) },
);

const mergePatch = fc.constantFrom<Json>(
  {},
  { n: 3 },
  { n: null, list: null },
  { deep: { x: null, more: { a: 1 } } },
  { list: [2, 3], updatedAt: null },
  { id: "b" },
  { id: null },
  [],
  5,
);

const operation = fc.constantFrom<Operation>(
  { op: "add", path: "/n", value: 4 },
  { op: "add", path: "/list", value: [] },
  { op: "add", path: "/list/-", value: 5 },
  { op: "add", path: "/list/0", value: { q: 1 } },
  { op: "remove", path: "/n" },
  { op: "replace", path: "/n", value: "five" },
  { op: "test", path: "/n", value: 1 },
  { op: "test", path: "/id", value: "a" },
  { op: "copy", from: "/n", path: "/m" },
  { op: "copy", from: "/list", path: "/list/0" },
  { op: "move", from: "/m", path: "/deep/m" },
  { op: "move", from: "/deep", path: "/n" },
  { op: "replace", path: "", value: { whole: true } },
  { op: "replace", path: "", value: [] },
  { op: "add", path: "/id", value: "b" },
  { op: "remove", path: "/updatedAt" },
);

const change = fc.record({
  kind: fc.constantFrom("post", "put", "put", "put", "merge", "json", "delete"),
  place: fc.nat(1),
  id: fc.constantFrom(...ids),
  condition,
  fields,
  mergePatch,
  operations: fc.array(operation, { maxLength: 3 }),
});
type Wish = typeof change extends fc.Arbitrary<infer T> ? T : never;

const key = fc.option(fc.nat(1), { nil: undefined, freq: 3 });

const rules = fc.constantFrom<Json>(
  {},
  {},
  { preconditions: "optional", idempotencyKey: "optional" },
  { preconditions: "required" },
  { preconditions: "required", idempotencyKey: "required" },
  { idempotencyKey: "required" },
  { preconditions: "always" },
  { other: 1 },
  [],
);

const randomRequest = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      randomRequest: fc.constant("change"),
      change,
      key,
      prefer: fc.constantFrom(undefined, undefined, "return=minimal", "return=representation"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      randomRequest: fc.constant("batch"),
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
      key,
    }),
  },
  { weight: 2, arbitrary: fc.record({ randomRequest: fc.constant("again"), back: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ randomRequest: fc.constant("define"), place: fc.nat(1), rules }),
  },
);

const look = fc.record({
  page: fc.integer({ min: 1, max: 3 }),
  limit: fc.integer({ min: 1, max: 4 }),
  sort: fc.constantFrom("createdAt" as const, "-createdAt" as const),
  behind: fc.integer({ min: -1, max: 12 }),
});
type Look = typeof look extends fc.Arbitrary<infer T> ? T : never;

const step = fc.record({ callerNumber: fc.nat(9), randomRequest, look });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const steps = fc.array(step, { minLength: 5, maxLength: 25 });

/** Which collections have both resources from the start. */
const seeded = fc.constantFrom([], [0], [0, 1], [0, 1]);

const everything = ["read", "create", "update", "delete"];
/** The first two are used most often. */
const callers: readonly Caller[] = [
  { name: "admin", isAdmin: true, verbs: everything },
  { name: "writer", isAdmin: false, verbs: everything },
  { name: "creator", isAdmin: false, verbs: ["create"] },
  { name: "updater", isAdmin: false, verbs: ["update"] },
  { name: "remover", isAdmin: false, verbs: ["delete"] },
];

/** A request in progress: its content, its caller, and its preference. */
interface Sent {
  readonly caller: Caller;
  readonly ask: ModelRequest;
  readonly prefer: string | undefined;
}

/** One sequence on collections and keys of its own. */
class Sequence {
  readonly #clients: ReadonlyMap<string, Client>;
  readonly #collections: readonly [string, string];
  readonly #number: number;
  readonly #model = new ReferenceModel();
  readonly #sent: Sent[] = [];
  /** The first body under each key. */
  readonly #first = new Map<string, string>();

  constructor(clients: ReadonlyMap<string, Client>, number: number) {
    this.#clients = clients;
    this.#number = number;
    this.#collections = [`one-${number}`, `two-${number}`];
  }

  async run(seeded: readonly number[], steps: readonly Step[]): Promise<void> {
    for (const place of seeded) await this.#seed(this.#collections[place] ?? "");
    for (const { callerNumber, randomRequest, look } of steps) {
      const caller =
        callers[callerNumber < 4 ? 0 : callerNumber < 7 ? 1 : callerNumber - 5] ?? callers[0];
      assert.ok(caller !== undefined);
      const sent = this.#resolve(caller, randomRequest);
      if (sent !== undefined) await this.#do(sent);
      for (const place of this.#collections) await this.#compare(place, look);
    }
  }

  async #seed(collection: string): Promise<void> {
    const [caller] = callers;
    assert.ok(caller !== undefined);
    for (const id of ids) {
      const ask: ModelRequest = {
        kind: "put",
        collection,
        id,
        condition: {},
        body: { n: 1, list: [1] },
      };
      await this.#do({ caller, ask, prefer: undefined });
    }
  }

  /** Puts in what only this run knows: names and tags. */
  #resolve(caller: Caller, randomRequest: Step["randomRequest"]): Sent | undefined {
    if ("back" in randomRequest) return this.#sent.at(-1 - randomRequest.back);
    if ("rules" in randomRequest) {
      const collection = this.#collections[randomRequest.place] ?? "";
      return {
        caller,
        ask: { kind: "define", collection, rules: randomRequest.rules },
        prefer: undefined,
      };
    }
    const keyed =
      randomRequest.key === undefined ? {} : { key: `key-${this.#number}-${randomRequest.key}` };
    if ("changes" in randomRequest) {
      const [first] = randomRequest.changes;
      const place = randomRequest.key === undefined ? undefined : first?.place;
      const plannedChanges = randomRequest.changes.map((planned) => ({
        ...planned,
        place: place ?? planned.place,
      }));
      const changes = plannedChanges.map((planned) => withoutDates(this.#change(planned)));
      return { caller, ask: { kind: "batch", changes, ...keyed }, prefer: undefined };
    }
    const change = this.#change(randomRequest.change);
    const ask = change.kind === "post" ? { ...change, ...keyed } : change;
    return { caller, ask, prefer: randomRequest.prefer };
  }

  #change(planned: Wish): Change {
    const collection = this.#collections[planned.place] ?? "";
    const { id } = planned;
    if (planned.kind === "post") return { kind: "post", collection, body: planned.fields };
    const condition = this.#condition(planned, collection);
    const place = { collection, id, condition };
    switch (planned.kind) {
      case "put":
        return { kind: "put", ...place, body: planned.fields };
      case "merge":
        return { kind: "merge", ...place, body: planned.mergePatch };
      case "json":
        return { kind: "json", ...place, body: planned.operations };
      default:
        return { kind: "delete", ...place };
    }
  }

  #condition({ condition, id }: Wish, collection: string): Condition {
    const tag = this.#model.find(collection, id)?.tag ?? '"none"';
    const past = "Sun, 06 Nov 1994 08:49:37 GMT";
    const conditions: Readonly<Record<typeof condition, Condition>> = {
      none: {},
      match: { ifMatch: tag },
      "match-stale": { ifMatch: '"stale"' },
      "match-weak": { ifMatch: `W/${tag}` },
      "match-any": { ifMatch: "*" },
      "match-one-of": { ifMatch: `"stale", ${tag}, W/"weak"` },
      "none-match-any": { ifNoneMatch: "*" },
      "none-match": { ifNoneMatch: tag },
      "none-match-weak": { ifNoneMatch: `"stale", W/${tag}` },
      "none-match-stale": { ifNoneMatch: '"stale"' },
      modified: { ifUnmodifiedSince: past },
      "match-and-modified": { ifMatch: tag, ifUnmodifiedSince: past },
      "match-and-none-match": { ifMatch: tag, ifNoneMatch: tag },
    };
    return conditions[condition];
  }

  async #do(sent: Sent): Promise<void> {
    const { caller, ask, prefer } = sent;
    this.#sent.push(sent);
    const client = this.#clients.get(caller.name);
    assert.ok(client !== undefined);
    const answer = await send(client, ask, prefer);
    const verdict = this.#model.respond(caller, ask, newIds(answer, ask));
    if ("problem" in verdict) {
      assertProblem(answer, verdict.problem);
      return;
    }
    const { results, isReplay } = verdict;
    assert.equal(answer.headers.get("idempotency-replayed"), isReplay ? "true" : null, answer.body);
    const isReader = caller.verbs.includes("read");
    if (ask.kind === "batch") assertResults(answer, results, isReader);
    else if (ask.kind !== "define") assertWritten(answer, ask.kind, results[0], prefer, isReader);
    else assert.ok(answer.status === 200 || answer.status === 201, answer.body);
    if ("key" in ask) {
      const { collection } = results[0] ?? {};
      this.#remember(`${caller.name} ${collection} ${ask.key} ${prefer}`, answer);
    }
    if (!isReplay) await this.#learn(results);
  }

  /** Under one key, what is preferred is always the same, byte for byte. */
  #remember(name: string, { body }: Answer): void {
    const first = this.#first.get(name);
    if (first === undefined) this.#first.set(name, body);
    else assert.equal(body, first);
  }

  /** Reads what was written, and lets the model know the tags. */
  async #learn(results: readonly Result[]): Promise<void> {
    const admin = this.#clients.get("admin");
    assert.ok(admin !== undefined);
    for (const { collection, id } of results) {
      const kept = this.#model.find(collection, id);
      const { status, headers, body } = await admin.get(`/${collection}/${id}`);
      assert.equal(status, kept === undefined ? 404 : 200);
      if (kept === undefined) continue;
      assertFields(JSON.parse(body), id, kept.fields);
      const tag = headers.get("etag") ?? "";
      this.#model.recordMetadata(collection, id, tag, JSON.parse(body).createdAt);
      const known = await admin.get(`/${collection}/${id}`, { "if-none-match": tag });
      assert.equal(known.status, 304);
    }
  }

  async #compare(place: string, { page, limit, sort, behind }: Look): Promise<void> {
    const admin = this.#clients.get("admin");
    const all = this.#model.list(place, sort);
    const revision = this.#model.revision(place) ?? 0;
    assert.ok(admin !== undefined);
    const read = await admin.get(`/${place}?page=${page}&limit=${limit}&sort=${sort}`);
    const since = Math.max(0, revision - behind);
    const feed = await admin.get(
      `/${place}?since=${await position(admin, place, since)}&limit=${limit}`,
    );
    if (all === undefined) {
      assertProblem(read, "not-found");
      assertProblem(feed, "not-found");
      return;
    }
    const { data, ...rest } = JSON.parse(read.body);
    const total = all.length;
    assert.deepEqual(rest, { page, limit, total, pages: Math.ceil(total / limit) });
    assert.equal(read.headers.get("x-total-count"), `${total}`);
    const expected = all.slice((page - 1) * limit, page * limit);
    assert.deepEqual(data.map(withoutTimes), expected);
    if (since > revision) assertProblem(feed, "gone");
    else assert.deepEqual(plainFeed(feed.body), this.#model.since(place, since, limit));
  }
}

/** The position of a revision in the history that the collection has now. */
async function position(client: Client, place: string, revision: number): Promise<string> {
  if (revision === 0) return "0";
  const { status, body } = await client.get(`/${place}?since=0&limit=1`);
  const [epoch] = status === 200 ? JSON.parse(body).next.split("-") : ["1.1"];
  return `${epoch}-${revision.toString(36)}-0`;
}

const revisionIn = (position: string): number =>
  position === "0" ? 0 : Number.parseInt(position.split("-")[1] ?? "", 36);

function send(client: Client, ask: ModelRequest, prefer: string | undefined): Promise<Answer> {
  const more = {
    ...(prefer === undefined ? {} : { prefer }),
    ...("key" in ask && ask.key !== undefined ? { "idempotency-key": `"${ask.key}"` } : {}),
  };
  if (ask.kind === "batch") return client.batch(ask.changes.map(operationOf), more);
  if (ask.kind === "define") return client.put(`/-/collections/${ask.collection}`, text(ask.rules));
  if (ask.kind === "post") return client.post(`/${ask.collection}`, text(ask.body), more);
  const path = `/${ask.collection}/${ask.id}`;
  const { ifMatch, ifNoneMatch, ifUnmodifiedSince } = ask.condition;
  const headers = {
    ...more,
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
    ...(ifUnmodifiedSince === undefined ? {} : { "if-unmodified-since": ifUnmodifiedSince }),
  };
  switch (ask.kind) {
    case "put":
      return client.put(path, text(ask.body), headers);
    case "merge":
      return client.patch(path, text(ask.body), headers);
    case "json":
      return client.jsonPatch(path, text(ask.body), headers);
    case "delete":
      return client.remove(path, headers);
  }
}

const text = (value: unknown): string => JSON.stringify(value);

/** In a batch a condition goes by tags alone. */
function withoutDates(change: Change): Change {
  if (change.kind === "post") return change;
  const { ifUnmodifiedSince, ...condition } = change.condition;
  return { ...change, condition };
}

const methods = { post: "POST", put: "PUT", merge: "PATCH", json: "PATCH", delete: "DELETE" };

function operationOf(change: Change): unknown {
  const method = methods[change.kind];
  if (change.kind === "post") return { method, path: `/${change.collection}`, body: change.body };
  const { collection, id, condition, kind, ...rest } = change;
  const type = kind === "json" ? { contentType: "application/json-patch+json" } : {};
  return { method, path: `/${collection}/${id}`, ...condition, ...type, ...rest };
}

/** The ids that the server has chosen. */
function newIds({ status, headers, body }: Answer, ask: ModelRequest): readonly string[] {
  const idIn = (location: string | null) => location?.split("/").at(-1) ?? "?";
  if (ask.kind === "post") return [idIn(headers.get("location"))];
  if (ask.kind !== "batch" || status !== 200) return [];
  const { results }: { results: { location: string | null }[] } = JSON.parse(body);
  return ask.changes.flatMap(({ kind }, index) =>
    kind === "post" ? [idIn(results[index]?.location ?? null)] : [],
  );
}

const withoutTimes = ({ createdAt, updatedAt, ...fields }: Record<string, unknown>) => fields;

function plainFeed(body: string): unknown {
  const feed: { changes: Record<string, unknown>[]; since: string; next: string } =
    JSON.parse(body);
  const changes = feed.changes.map(({ removedAt, resource, ...rest }) =>
    resource === undefined
      ? rest
      : { ...rest, resource: withoutTimes(resource as Record<string, unknown>) },
  );
  return { ...feed, changes, since: revisionIn(feed.since), next: revisionIn(feed.next) };
}

function assertFields(body: Record<string, unknown>, id: string, fields: unknown): void {
  const { createdAt, updatedAt, id: reported, ...rest } = body;
  assert.equal(reported, id);
  assert.deepEqual(rest, fields);
  assert.ok(Date.parse(`${createdAt}`) <= Date.parse(`${updatedAt}`));
}

function assertWritten(
  { status, headers, body }: Answer,
  kind: Change["kind"],
  result: Result | undefined,
  prefer: string | undefined,
  isReader: boolean,
): void {
  assert.ok(result !== undefined);
  const { collection, id, fields } = result;
  const isPreferred = prefer === "return=minimal";
  const isMinimal = (isPreferred || !isReader) && fields !== undefined;
  assert.equal(status, isMinimal && result.status === 200 ? 204 : result.status, body);
  const isHeeded = fields !== undefined && (isReader || isPreferred);
  assert.equal(headers.get("preference-applied"), isHeeded ? (prefer ?? null) : null);
  const address = `/${collection}/${id}`;
  assert.equal(headers.get("location"), result.status === 201 ? address : null);
  const isTagged = kind !== "put" && kind !== "delete";
  assert.equal(headers.has("etag"), isTagged);
  if (isMinimal || fields === undefined) assert.equal(body, "");
  else assertFields(JSON.parse(body), id, fields);
}

function assertResults(
  { status, body }: Answer,
  results: readonly Result[],
  isReader: boolean,
): void {
  assert.equal(status, 200, body);
  const reported: Record<string, unknown>[] = JSON.parse(body).results;
  assert.equal(reported.length, results.length);
  for (const [index, { status: each, collection, id, fields }] of results.entries()) {
    const entry = reported[index] ?? {};
    const isMinimal = fields !== undefined && !isReader;
    assert.equal(entry.status, isMinimal && each === 200 ? 204 : each);
    if (fields === undefined) continue;
    assert.equal(entry.location, `/${collection}/${id}`);
    assert.equal("body" in entry, isReader);
    if (isReader) assertFields(entry.body as Record<string, unknown>, id, fields);
  }
}

for (const store of storesHere("postgres", [undefined, "postgres"]))
  describe(`a random sequence of requests, on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    const clients = new Map<string, Client>();
    before(async () => {
      app = await startApp({ store });
      for (const { name, isAdmin, verbs } of callers)
        clients.set(
          name,
          new Client(
            app,
            isAdmin ? undefined : await app.token(...verbs.map((verb) => `*:${verb}`)),
          ),
        );
    });
    after(() => app.stop());

    it("gets the responses of the model", async () => {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(seeded, steps, (seeds, all) =>
          new Sequence(clients, ++count).run(seeds, all),
        ),
        { numRuns: runs(4, 100) },
      );
    });
  });
