// Every entry point of the domain rejects a principal without the scope, without HTTP in front of it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { sendFile } from "#runtime";
import { Access } from "../../src/domain/access.ts";
import { AccessDocuments } from "../../src/domain/access-documents.ts";
import { Actions } from "../../src/domain/actions.ts";
import { Backups } from "../../src/domain/backups.ts";
import type { CollectionAccess } from "../../src/domain/collection-access.ts";
import { Collections } from "../../src/domain/collections.ts";
import { Feeds } from "../../src/domain/feeds.ts";
import { Lists } from "../../src/domain/lists.ts";
import { Pictures } from "../../src/domain/pictures.ts";
import { Resources } from "../../src/domain/resources.ts";
import { ResumableUploads } from "../../src/domain/resumable-uploads.ts";
import { Rights } from "../../src/domain/rights/rights.ts";
import { Settings } from "../../src/domain/settings.ts";
import { SignedUrls } from "../../src/domain/signed-urls.ts";
import { SlowQueries } from "../../src/domain/slow-queries.ts";
import { Status } from "../../src/domain/status.ts";
import { Tokens } from "../../src/domain/tokens.ts";
import { Uploads } from "../../src/domain/uploads.ts";
import { Erasures } from "../../src/domain/write/erasures.ts";
import { Writes } from "../../src/domain/write/writes.ts";
import { MemoryBudget } from "../../src/lib/memory-budget.ts";
import type { Action } from "../../src/model/action.ts";
import type { Collection, Rules } from "../../src/model/collection.ts";
import type { StoredFile } from "../../src/model/file.ts";
import { anonymous, type Principal, system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import type { ListRequest } from "../../src/model/query/list-request.ts";
import { type Verb, verbs } from "../../src/model/token.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { PictureCache } from "../../src/store/pictures/cache.ts";
import { RendererProcess } from "../../src/store/pictures/renderer.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

const domain = fileURLToPath(new URL("../../src/domain", import.meta.url));

const holderOf = (...scopes: readonly string[]): Principal => {
  return { kind: "token", subject: "someone", scopes, roles: [], credential: undefined };
};

const collectionScopes = (held: readonly Verb[]) => held.map((verb) => `notes:${verb}`);

/** Everything in the domain, over one store with one resource. */
interface Domain {
  readonly store: Store;
  readonly collection: Collection;
  readonly rules: Rules;
  readonly access: Access;
  readonly accessDocuments: AccessDocuments;
  readonly actions: Actions;
  readonly collections: Collections;
  readonly lists: Lists;
  readonly feeds: Feeds;
  readonly resources: Resources;
  readonly rights: Rights;
  readonly signedUrls: SignedUrls;
  readonly pictures: Pictures;
  readonly slowQueries: SlowQueries;
  readonly backups: Backups;
  readonly settings: Settings;
  readonly status: Status;
  readonly tokens: Tokens;
  readonly uploads: Uploads;
  readonly resumableUploads: ResumableUploads;
  readonly writes: Writes;
  readonly erasures: Erasures;
}

const action: Action = {
  name: "ring",
  description: "Rings.",
  input: {},
  timeoutMs: 1000,
  run: () => assert.fail("the action must not run"),
};

const listRequest: ListRequest = {
  ...{ filters: [], search: undefined, sort: [], fields: [], expand: [], page: 1, limit: 20 },
  aggregate: undefined,
  ...{ where: undefined, cursor: undefined, isCounted: true, isFromUrl: true, errors: [] },
};

const testing = '[{"op":"test","path":"/text","value":"old"}]';
const draft = { fields: '{"text":"new"}', id: undefined };
const file: StoredFile = {
  ...{ slot: "a", name: "a", type: "text/plain", size: 1, sha256: "", key: "none" },
};

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
}

/** What an entry point needs: a verb on the collection, the admin scope, or the scope of the action. */
type Needed = Verb | "put" | "admin" | "action";

interface EntryPoint {
  readonly needs: Needed;
  readonly call: (domain: Domain, principal: Principal) => unknown;
}

/** Calls with the access of a principal to the collection, as if nobody had checked it. */
const onCollection = (
  needs: Needed,
  call: (domain: Domain, access: CollectionAccess) => unknown,
): EntryPoint => ({
  needs,
  call: async (all, principal) =>
    call(all, await all.access.byRules(principal, "notes", all.rules)),
});

const targetOf = ({ collection, rules }: Domain, access: CollectionAccess) => {
  return { access, collection, rules };
};

const admin = (call: EntryPoint["call"]): EntryPoint => ({ needs: "admin", call });

const entryPoints: Readonly<Record<string, EntryPoint>> = {
  ...Object.fromEntries(
    ([...verbs, "put"] as const).map((needs) => [
      `Access.open ${needs}`,
      { needs, call: ({ access }: Domain, who: Principal) => access.open(who, "notes", needs) },
    ]),
  ),
  "Resources.find": onCollection("read", ({ resources }, access) => resources.find(access, "a")),
  "Resources.find update": onCollection("update", ({ resources }, access) =>
    resources.find(access, "a", "update"),
  ),
  "Lists.target": onCollection("read", ({ lists }, access) => lists.target(access)),
  "Lists.plan": onCollection("read", (all, access) =>
    all.lists.plan(targetOf(all, access), listRequest),
  ),
  "Lists.read": onCollection("read", (all, access) =>
    all.lists.read({ target: targetOf(all, access), listRequest, query: undefined, others: [] }),
  ),
  "Feeds.since": onCollection("read", (all, access) =>
    all.feeds.since(targetOf(all, access), { since: 0, listRequest }),
  ),
  "Writes.run create": onCollection("create", ({ writes }, access) =>
    writes.run(access, { kind: "create", draft }),
  ),
  "Writes.run put": onCollection("put", ({ writes }, access) =>
    writes.run(access, { kind: "put", id: "a", draft }),
  ),
  "Writes.run put, to replace": onCollection("update", ({ writes }, access) =>
    writes.run(access, { kind: "put", id: "a", draft }),
  ),
  "Writes.run put, to create": onCollection("create", ({ writes }, access) =>
    writes.run(access, { kind: "put", id: "b", draft }),
  ),
  "Writes.run file": onCollection("update", ({ writes }, access) =>
    writes.run(access, { kind: "file", id: "a", slot: "a" }),
  ),
  "Writes.run upsert": onCollection("put", ({ writes }, access) =>
    writes.run(access, { kind: "upsert", field: "sku", draft }),
  ),
  "Writes.run patch": onCollection("update", ({ writes }, access) =>
    writes.run(access, { kind: "patch", id: "a", patchKind: "merge", patch: "{}" }),
  ),
  "Writes.run patch, with a test": onCollection("read", ({ writes }, access) =>
    writes.run(access, { kind: "patch", id: "a", patchKind: "json", patch: testing }),
  ),
  "Writes.run operate": onCollection("update", ({ writes }, access) =>
    writes.run(access, { kind: "operate", id: "a", operations: '{"increment":{"n":1}}' }),
  ),
  "Writes.run remove": onCollection("delete", ({ writes }, access) =>
    writes.run(access, { kind: "remove", id: "a" }),
  ),
  "Writes.plan": onCollection("create", ({ writes }, access) =>
    writes.plan(access, { kind: "create", draft }),
  ),
  "Writes.runAll create": {
    needs: "create",
    call: ({ writes }, who) => writes.runAll(who, [{ kind: "create", collection: "notes", draft }]),
  },
  "Writes.runAll put": {
    needs: "put",
    call: ({ writes }, who) =>
      writes.runAll(who, [{ kind: "put", collection: "notes", id: "a", draft }]),
  },
  "Writes.runAll patch": {
    needs: "update",
    call: ({ writes }, who) =>
      writes.runAll(who, [
        { kind: "patch", collection: "notes", id: "a", patchKind: "merge", patch: "{}" },
      ]),
  },
  "Writes.runAll remove": {
    needs: "delete",
    call: ({ writes }, who) =>
      writes.runAll(who, [{ kind: "remove", collection: "notes", id: "a" }]),
  },
  "Writes.runAllIn": onCollection("create", ({ writes }, access) =>
    writes.runAllIn(access, [{ kind: "create", draft }]),
  ),
  "Writes.runEach": onCollection("create", ({ writes }, access) =>
    writes.runEach(access, [{ kind: "create", draft }]),
  ),
  "Writes.tryEach": onCollection("create", ({ writes }, access) =>
    writes.tryEach(access, [{ kind: "create", draft }]),
  ),
  "Uploads.save": onCollection("create", ({ uploads }, access) =>
    uploads.save(access, "create", oneByte(), 10),
  ),
  "Uploads.save update": onCollection("update", ({ uploads }, access) =>
    uploads.save(access, "update", oneByte(), 10),
  ),
  "Pictures.render": onCollection("read", ({ pictures }, access) =>
    pictures.render(access, file, { width: 1, fit: "cover", format: undefined }, ""),
  ),
  "Pictures.describe": onCollection("read", ({ pictures }, access) =>
    pictures.describe(access, file, ""),
  ),
  "SignedUrls.sign": onCollection("read", ({ signedUrls }, access) =>
    signedUrls.sign(access, file, "/notes/a/a", 60),
  ),
  "ResumableUploads.create": onCollection("create", ({ resumableUploads }, access) =>
    resumableUploads.create(access, "create", {
      request: { method: "POST", path: "/notes", query: "", headers: {} },
      ...{ caller: "someone", maxBytes: 10, length: null },
    }),
  ),
  "Uploads.link": onCollection("read", ({ uploads }, access) =>
    uploads.link(access, file, {
      ...{ expiresInSeconds: 1, type: "", disposition: "", cacheControl: "" },
    }),
  ),
  "Uploads.read": onCollection("read", ({ uploads }, access) => uploads.read(access, file, 0, 1)),
  "Uploads.send": onCollection("read", ({ uploads }, access) => uploads.send(access, file, 0, 1)),
  "Collections.list": admin(({ collections }, who) => collections.list(who)),
  "Collections.progress": admin(({ collections }, who) => collections.progress(who, "notes")),
  "Collections.find": admin(({ collections }, who) => collections.find(who, "notes")),
  "Collections.dryRun": admin(({ collections }, who) => collections.dryRun(who, "notes", "{}")),
  "Collections.define": admin(({ collections }, who) => collections.define(who, "notes", "{}")),
  "Collections.apply": admin(async ({ collections }, who) => {
    const definitions = [{ name: "notes", text: "{}" }];
    const applied = await collections.apply(who, { access: "{}", definitions });
    return "problem" in applied ? applied.problem : applied;
  }),
  "Collections.delete": admin(({ collections }, who) => collections.delete(who, "notes", true)),
  "AccessDocuments.find": admin(({ accessDocuments }, who) => accessDocuments.find(who)),
  "AccessDocuments.replace": admin(({ accessDocuments }, who) =>
    accessDocuments.replace(who, '{"roles":{"root":["admin"]}}'),
  ),
  "Rights.seen": admin(({ rights }, who) => rights.seen(who, "notes", "{}", ["ann"])),
  "Rights.explain": admin(({ rights }, who) =>
    rights.explain(who, { collection: "notes", verb: "read" }),
  ),
  "Settings.list": admin(({ settings }, who) => settings.list(who)),
  "Settings.reload": admin(({ settings }, who) => settings.reload(who)),
  "Status.tasks": admin(({ status }, who) => status.tasks(who)),
  "Backups.list": admin(({ backups }, who) => backups.list(who)),
  "SlowQueries.list": admin(({ slowQueries }, who) => slowQueries.list(who)),
  "Erasures.erase": admin(({ erasures }, who) =>
    erasures.erase(who, { targets: [{ collection: "notes", id: "a" }], isTrial: true }),
  ),
  "Erasures.scrub": admin(({ erasures }, who) =>
    erasures.scrub(who, { isFirst: true, isFull: false }),
  ),
  "Tokens.list": admin(({ tokens }, who) => tokens.list(who, { offset: 0, limit: 1 })),
  "Tokens.find": admin(({ tokens }, who) => tokens.find(who, "t")),
  "Tokens.create": admin(({ tokens }, who) => tokens.create(who, { name: "t", scopes: ["admin"] })),
  "Tokens.revoke": admin(({ tokens }, who) => tokens.revoke(who, "t")),
  "Tokens.createCode": admin(({ tokens }, who) => tokens.createCode(who)),
  "Tokens.createFirstAdmin": admin(({ tokens }, who) => tokens.createFirstAdmin(who, "secret")),
  "Actions.find": {
    needs: "action",
    call: ({ actions }, who) => actions.find(who, "ring"),
  },
  "Actions.accept": {
    needs: "action",
    call: ({ actions }, who) => actions.accept(who, action, "{}"),
  },
  "Actions.run": {
    needs: "action",
    call: ({ actions }, who) => actions.run(who, action, "1", () => assert.fail("no context")),
  },
};

/** Public members that give nobody access, and why. */
const others: Readonly<Record<string, string>> = {
  "CollectionAccess.createsCollection":
    "is true for administrators only; used where a write is planned",
  "Callers.identify": "finds the principal of a secret",
  "Callers.use": "records a use of a principal's own credential",
  "Pictures.forget": "removes what was rendered from files that are removed",
  "Pictures.sweep": "run by the server itself",
  "Pictures.close": "run by the server itself",
  "Callers.holder": "finds the principal of a token that has signed a URL",
  "SignedUrls.open": "reads a signature; the signer's access is checked after it",
  "TokenCallers.find": "used by Callers",
  "TokenCallers.use": "used by Callers",
  "Callers.end": "ends what the caller itself has sent",
  "TokenCallers.end": "used by Callers",
  "Tokens.removeExpired": "run by the server itself",
  "Callers.renew": "returns the same principal with what it has now",
  "Resources.isCurrentFor": "asks Resources.find",
  "Lists.isCurrentFor": "asks Lists.target",
  "Access.byRules": "asked by Access.collection",
  "ShownPage.readQuery": "asked by Lists.read, with its query",
  "ShownPage.readSlice": "asked by Lists.read, with its range",
  "ShownPage.isTooLarge": "compares the size of what was read",
  "Mask.shownOf": "removes what the mask hides",
  "Rights.own": "returns what the principal may do itself; tested in http/rights.test.ts",
  "Access.collection": "reads the rules; each use of the result checks its own permission",
  "Actions.all": "names the types of all actions in the OpenAPI document",
  "Actions.visibleTo": "returns what the principal may run; tested below",
  "Collections.usable": "returns what the principal may use; tested below",
  "Uploads.setAside": "used by Erasures",
  "Uploads.settleAside": "used by Erasures",
  "ResumableUploads.find":
    "finds only uploads of the principal; tested in http/resumable-uploads.test.ts",
  "ResumableUploads.remove": "asks ResumableUploads.find",
  "ResumableUploads.setLength": "used with an upload that the caller has found",
  "ResumableUploads.room": "used with an upload that the caller has found",
  "ResumableUploads.append": "used with an upload that the caller has found",
  "ResumableUploads.complete": "used with an upload that the caller has found",
  "ResumableUploads.isCompleting": "used with an upload that the caller has found",
  "ResumableUploads.discard": "used with an upload that the caller has found",
  "ResumableUploads.sweep": "removes what has expired",
  "UploadTally.add": "used by ResumableUploads",
  "UploadTally.reserve": "used by ResumableUploads",
  "UploadTally.free": "used by ResumableUploads",
  "UploadTally.forget": "used by ResumableUploads",
  "Settings.reloadBy": "sets how it is done",
  "Status.readBy": "sets how tasks are read",
  "Backups.update": "sets what the schedule reports",
  "SlowQueries.record": "records a query that was allowed",
  "SlowQueries.isToLog": "limits the lines of the log",
  "PositionSeal.of": "encrypts positions of the caller",
  "ViewFeeds.since": "asked by Feeds.since",
  "CollectionAccess.isAdmin": "part of the check itself",
  "View.isByFields": "says how a view decides",
  "CollectionAccess.audienceKey": "says which callers see the same",
  "CollectionAccess.isOpen": "says what shared caches may store of what is shown",
  "CollectionAccess.require": "the check itself",
  "CollectionAccess.requireKey": "part of the check itself",
  "CollectionAccess.requirePrecondition": "part of the check itself",
  "CollectionAccess.takeEarly": "is used by Resources.find, after the check",
  "CollectionAccess.isOwned": "part of the check itself",
  "CollectionAccess.creator": "part of the check itself",
  "CollectionAccess.includes": "part of the check itself",
  "CollectionAccess.mayRead": "part of the check itself",
  "CollectionAccess.facts": "part of the check itself",
  "CollectionAccess.loading": "part of the check itself",
  "CollectionAccess.decide": "part of the check itself",
  "CollectionAccess.ruleReads": "used by Writes",
  "Plan.plan": "the stage of Writes that checks each operation",
  "Plan.planOne": "the stage of Writes that checks the only operation",
  "BatchMemory.restart": "used by Plan",
  "Plan.isOvertaken": "used by PlanCommitter",
  "PlanCommitter.all": "used by Writes, after the plan",
  "PlanCommitter.one": "used by Writes, after the plan",
  "PlanCommitter.eachPlanned": "used by Writes, after the plan",
  "States.size": "used by Writes",
  "States.stored": "used by Unseen",
  "States.setAside": "used by Unseen",
  "Upserts.held": "used by Unseen",
  "Upserts.setFree": "used by Unseen",
  "Unseen.setAside": "used by Plan; it hides what the caller may not know of",
  "Unseen.before": "used by PlanCommitter, for a dry run",
  "States.clear": "used by Plan",
  "States.at": "used by Plan",
  "States.add": "used by Plan",
  "States.settle": "used by Writes",
  "States.unusedFiles": "used by Writes",
  "States.after": "used by Plan",
  "States.create": "used by Plan",
  "States.findWritten": "used by Plan",
  "States.follow": "used by Plan",
  "ReferenceFollower.remove": "used by Plan, for a deletion that the caller may make",
  "ReferenceFollower.finishRemovals": "used by Plan, for deletions that the caller may make",
  "ReferenceFollower.restriction": "used by Plan; it names only what the caller may read",
  "ReferenceFollower.check": "used by Plan; what the caller may not read counts as missing",
  "Expander.plan": "marks what the caller may not read",
  "Expander.read": "shows null for what the caller may not read; tested in http/expand.test.ts",
  "Expander.expand": "asks Expander.plan and Expander.read, for a list that was read",
  "Expander.isCurrentFor": "compares what the caller may read with an earlier plan",
  "ExpandedPage.read": "used by Expander",
  "CollectionAccess.view": "what the others ask",
  "View.holding": "what the others ask",
  "View.includes": "what the others ask",
  "View.shows": "what the others ask",
  "View.names": "what the others ask",
  "View.namesIn": "what the others ask",
  "CollectionAccess.seal": "encrypts cursors of the caller",
  "CursorSeal.close": "encrypts cursors of the caller",
  "CursorSeal.open": "decrypts cursors of the caller",
  "View.showsAlways": "what the others ask",
  "CollectionAccess.askForUnseen": "reads another resource, and tells nothing about it",
  "RuleFacts.isUnused": "used by CollectionAccess",
  "Sets.read": "used by Access",
  "CollectionAccess.isByCaller": "part of the check itself",
  "CollectionAccess.isValidator": "compares a validator with a state that was loaded",
  "CollectionAccess.showsUpdates": "part of the check itself",
  "CollectionAccess.mask": "what the others ask",
  "CollectionAccess.maskNow": "what the others ask",
  "CollectionAccess.masksOf": "what the others ask",
  "CollectionAccess.writtenMask": "shows nothing of a resource",
  "Mask.rules": "used with a mask that the caller has",
  "Mask.hasOthers": "used with a mask that the caller has",
  "Mask.shows": "used with a mask that the caller has",
  "Mask.showsUpdates": "used with a mask that the caller has",
  "Mask.validator": "used with a mask that the caller has",
  "Mask.isValidator": "used by CollectionAccess",
  "Masks.key": "used by CollectionAccess",
  "Masks.part": "used by CollectionAccess",
  "Masks.at": "used by Mask",
  "Masks.revisionOf": "used by Mask",
  "Masks.hash": "used by Mask",
  "RuleCompiler.compile": "used by Access",
  "RuleCompiler.values": "used by Rights",
  "RuleCompiler.related": "used by Rights",
  "ConditionReporter.report": "used by Rights, for an admin",
  "RuleFacts.matches": "used by View",
  "RuleFacts.loading": "used by View",
  "RuleFacts.reads": "used by Writes",
  "Upserts.load": "used by Plan",
  "Upserts.resolve": "used by Plan, after the check",
  "Upserts.isOvertaken": "used by Plan",
  "BatchMemory.takeChanged": "used by Plan",
  "BatchMemory.takeWritten": "used by Plan",
  "Tokens.exchangeCode": "asks for a code, which nobody but an administrator has made",
  "TokenUses.add": "called for the token of a request",
  "TokenUses.latest": "used by Tokens",
  "TokenUses.flush": "run by the server itself",
  "Uploads.maxFileBytes": "is a limit of the server",
  "ArrivingFiles.count": "used by Uploads, after the check",
  "Uploads.discard": "removes files that no resource refers to",
  "Uploads.writeWithFiles": "used by Writes, around a checked write",
  "Uploads.sweep": "run by the server itself",
};

/** Principals that may do everything except what is needed. */
function principalsWithout(needs: Needed): readonly Principal[] {
  const held =
    needs === "put"
      ? verbs.filter((verb) => verb !== "create" && verb !== "update")
      : verbs.filter((verb) => verb !== needs);
  const scopes = needs === "admin" || needs === "action" ? ["*:*"] : collectionScopes(held);
  return [holderOf(), holderOf("others:*", "action:others"), holderOf(...scopes)];
}

/** The problem in the result of any entry point. */
function problemIn(result: unknown): Problem | undefined {
  if (result instanceof Problem) return result;
  if (Array.isArray(result)) return problemIn(result[0]);
  const isRefused = typeof result === "object" && result !== null && "problem" in result;
  return isRefused ? problemIn(result.problem) : undefined;
}

describe("a principal without the scope", () => {
  let folder: string;
  let all: Domain;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    const store = await openSqlite({ path: join(folder, "data") });
    await store.commit([
      { kind: "create-collection", collection: "notes", at: 1 },
      { kind: "put", collection: "notes", id: "a", fields: "{}", at: 1, expect: "nothing" },
    ]);
    const [collection, rules] = [await store.collection("notes"), await store.rules("notes")];
    assert.ok(collection !== undefined && rules !== undefined);
    const access = new Access(store, Date.now);
    const files = openDisk(join(folder, "files"), sendFile);
    const uploads = new Uploads(store, files);
    const memory = new MemoryBudget(2 ** 20);
    const options = { clock: Date.now, maxBytes: 2 ** 20, base: "", memory, maxCascade: 0 };
    const resources = new Resources(store);
    const writes = new Writes(store, access, uploads, options);
    all = {
      ...{ store, collection, rules, access, uploads, resources, writes },
      rights: new Rights(store, Date.now, access, resources, writes),
      actions: new Actions([action], (_, thrown) => assert.fail(`${thrown}`)),
      collections: new Collections(store, Date.now),
      accessDocuments: new AccessDocuments(store, Date.now),
      lists: new Lists(store, access, 2 ** 20),
      feeds: new Feeds(store, 2 ** 20),
      signedUrls: new SignedUrls(store, access, Date.now),
      pictures: new Pictures(
        files,
        new PictureCache(join(folder, "pictures"), 2 ** 20),
        new RendererProcess(),
      ),
      slowQueries: new SlowQueries(Date.now),
      backups: new Backups(),
      settings: new Settings(() => []),
      status: new Status(() => []),
      resumableUploads: new ResumableUploads(files.partial, {
        ...{ clock: Date.now, lifetimeMs: 60_000, maxBytes: 2 ** 24 },
      }),
      tokens: new Tokens(store, Date.now),
      erasures: new Erasures(store, access, uploads, options),
    };
  });

  after(async () => {
    await all.store.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [name, { needs, call }] of Object.entries(entryPoints))
    it(`gets a problem from ${name}, and nothing changes`, async () => {
      const problem = problemIn(await call(all, anonymous));
      assert.equal(problem?.kind, "unauthenticated");
      for (const principal of principalsWithout(needs)) {
        const rejected = problemIn(await call(all, principal));
        assert.equal(rejected?.kind, "insufficient-scope", principal.scopes.join(" "));
      }
      assert.deepEqual(await all.store.collection("notes"), all.collection);
      assert.deepEqual(await all.store.collections(), [all.collection]);
      assert.deepEqual(await all.store.tokens(), []);
    });

  it("finds no collection under the name of the access document, as an administrator", async () => {
    assert.ok("roles" in (await all.accessDocuments.replace(system, '{"roles":{"a":[]}}')));
    const before = await all.store.collection("-access");
    assert.ok(before !== undefined);
    for (const permission of [...verbs, "put"] as const) {
      const opened = await all.access.open(system, "-access", permission);
      assert.equal(problemIn(opened)?.kind, "not-found", permission);
    }
    const access = await all.access.collection(system, "-access");
    const created = { kind: "create", collection: "-access", draft } as const;
    for (const result of [
      await all.lists.target(access),
      await all.resources.find(access, "a"),
      await all.writes.run(access, { kind: "create", draft }),
      await all.writes.runAll(system, [created]),
      await all.collections.find(system, "-access"),
      await all.collections.progress(system, "-access"),
      await all.collections.define(system, "-access", "{}"),
      await all.collections.delete(system, "-access", true),
    ])
      assert.equal(problemIn(result)?.kind, "not-found");
    assert.deepEqual(await all.collections.list(system), [all.collection]);
    assert.deepEqual(await all.store.collection("-access"), before);
  });

  it("gets a problem from Lists.target when it loses the scope after it was asked for", async () => {
    const define = async (name: string, definition: string) =>
      assert.ok(!((await all.collections.define(system, name, definition)) instanceof Problem));
    await define("open", '{"access":{"read":"public"}}');
    const opened = await all.access.open(anonymous, "open", "read");
    assert.ok(!(opened instanceof Problem));
    assert.ok("collection" in (await all.lists.target(opened)));
    await define("open", "{}");
    assert.equal(problemIn(await all.lists.target(opened))?.kind, "unauthenticated");
    await all.collections.delete(system, "open", false);
  });

  it("sees no collection and no action", async () => {
    for (const principal of [anonymous, holderOf("others:*", "action:others")]) {
      const { collections: usable } = await all.collections.usable(principal);
      assert.deepEqual(
        usable.map(({ verbs }) => verbs),
        [[]],
      );
      assert.deepEqual(all.actions.visibleTo(principal), []);
    }
    assert.deepEqual((await all.collections.usable(system)).collections[0]?.verbs, verbs);
    assert.deepEqual(all.actions.visibleTo(system), [action]);
  });

  it("is tested with every public member of every class of the domain", async () => {
    const known = new Set([
      ...Object.keys(entryPoints).map((name) => name.split(" ")[0]),
      ...Object.keys(others),
    ]);
    const members = (await Promise.all(modules().map(classesIn))).flat().flatMap(membersOf);
    assert.ok(members.length > 30, `${members.length}`);
    // A function in a field would not be found.
    const fields = modules().flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(functionField)].map(([, name]) => name),
    );
    assert.deepEqual(fields, ["maskOf"], "write a method instead; maskOf shows a mask to lists");
    assert.deepEqual(
      members.filter((member) => !known.has(member)),
      [],
      "list each new member in `entryPoints` or, with the reason, in `others`",
    );
    assert.deepEqual(
      [...known].filter((name) => !members.includes(name ?? "")),
      [],
    );
  });
});

/** A public field of a class with a function. */
const functionField =
  /^ {2}(?:readonly )?(\w+)(?:: [^=\n]+)? = (?:async )?(?:\([^\n]*=>|function)/gm;

const modules = (): readonly string[] =>
  readdirSync(domain, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(domain, path));

async function classesIn(path: string): Promise<readonly (new () => object)[]> {
  const exported: unknown[] = Object.values(await import(path));
  return exported.filter(
    (value): value is new () => object =>
      typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value)),
  );
}

const membersOf = ({ name, prototype }: new () => object): readonly string[] =>
  Object.getOwnPropertyNames(prototype)
    .filter((member) => member !== "constructor")
    .map((member) => `${name}.${member}`);
