// What a report on a condition of a rule shows, where other collections are not known at once.

import assert from "node:assert/strict";
import { it } from "node:test";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { ConditionReporter } from "../../src/domain/rights/condition-report.ts";
import { everything } from "../../src/domain/view.ts";
import { Lookup } from "../../src/lib/maybe-promise.ts";
import { system } from "../../src/model/principal.ts";
import { queryableFieldsOf } from "../../src/model/query/queryable.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { create, define, put } from "../store/contract/change-helpers.ts";
import { inDirectory } from "../store/sqlite/test-directory.ts";

const posts = JSON.stringify({ references: { project: { collection: "projects" } } });
const values = { me: "ann", roles: [], now: 0, set: () => undefined };

it("a report shows what it finds in a collection that must be read first", () =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path });
    const fields = '{"owner":"ann"}';
    await store.commit([create("projects"), put("p", { fields, collection: "projects" })]);
    await store.commit([define(posts), put("a", { fields: '{"project":"p"}' })]);
    // As on Postgres, where what is known is forgotten after a second.
    const related = new Lookup(
      async (name) => new CollectionAccess(system, name, await store.rules(name), everything),
    );
    const reporter = new ConditionReporter(store, queryableFieldsOf(posts), values, related);
    const post = await store.find("things", "a");
    assert.ok(post);
    assert.deepEqual(await reporter.report({ "project.owner": "$me" }, post), [
      { field: "project.owner", wanted: "ann", found: "ann", holds: true },
    ]);
    await store.close();
  }));
