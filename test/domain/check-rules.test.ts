// The rules of a definition are checked when it is defined: every error at once, each with its place.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { checkRules } from "../../src/domain/check-rules.ts";
import type { FieldError } from "../../src/model/problem.ts";
import { indexPlanOf } from "../../src/model/query/index-plan.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

let folder: string;
let store: Store;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-rules-"));
  store = await openSqlite({ path: folder });
  const projects = {
    schema: { properties: { owner: { type: "string" }, team: { type: "string" } } },
    references: { team: { collection: "teams" } },
  };
  const teams = { schema: { properties: { lead: { type: "string" } } } };
  for (const [collection, definition] of Object.entries({ projects, teams })) {
    const change = { kind: "define", collection, definition: JSON.stringify(definition) } as const;
    await store.commit([{ ...change, at: 0 }]);
  }
});

after(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const names = { sets: new Set(["teams", "tenants"]), roles: new Set(["editor"]) };

const schema = {
  type: "object",
  required: ["title"],
  properties: {
    title: { type: "string", minLength: 2 },
    status: { enum: ["draft", "published"] },
    author: { type: "string" },
    team: { type: "string" },
    tenant: { type: "string" },
    project: { type: "string" },
    pages: { type: "integer" },
    due: { type: "string", format: "date-time" },
    secret: { type: "string", writeOnly: true },
    tags: { type: "array", items: { type: "string" } },
    address: { type: "object", properties: { city: { type: "string" } } },
  },
};
const references = { project: { collection: "projects" } };

async function errorsOf(rules: object, others: object = { schema, references }) {
  const definition = readDefinition(JSON.stringify({ ...others, ...rules }));
  if (!("access" in definition)) return definition;
  return checkRules(store, "posts", definition, names);
}

/** The grant of a verb with these members. */
const withGrant = (verb: string, members: object) => ({
  access: { [verb]: [{ name: "one", to: "token", ...members }] },
});

describe("rules that are valid", () => {
  const valid: Readonly<Record<string, object>> = {
    "each value of the caller": withGrant("read", {
      where: {
        author: "$me",
        team: { in: "$my.teams" },
        status: { in: "$me.roles" },
        due: { gt: "$now" },
        title: "$$me",
        $owner: { exists: true },
        tags: { some: { eq: "$me" } },
      },
    }),
    "a value of the caller in a list": withGrant("read", {
      where: { author: { in: ["$me", "x"] } },
    }),
    "a field across a reference": withGrant("read", { where: { "project.owner": "$me" } }),
    "combined conditions": withGrant("delete", {
      where: { $or: [{ author: "$me" }, { $not: { status: "draft" } }] },
    }),
    "fields, also of objects and of the server": withGrant("read", {
      fields: ["title", "address", "address.city", "updatedAt", "id", "tags"],
    }),
    "values that are set": withGrant("create", {
      set: { author: "$me", status: "draft", due: "$now", pages: 1, title: "$$x", tags: ["a"] },
      check: {},
    }),
    "values that are set, of lists and in objects": withGrant("create", {
      set: { tags: "$my.teams", "address.city": "Bern" },
      check: { team: { in: "$my.teams" } },
    }),
    "a role": withGrant("read", { to: { role: "editor" } }),
    "a boundary": { boundary: { tenant: { in: "$my.tenants" } }, access: { read: "public" } },
  };
  for (const [what, rules] of Object.entries(valid))
    it(`have no errors: ${what}`, async () => assert.deepEqual(await errorsOf(rules), []));

  it("name any field without a schema", async () => {
    const rules = { ...withGrant("update", { where: { a: { b: 1 } }, fields: ["x.y"] }) };
    assert.equal((await errorsOf(rules, {})).length, 1, "b is no operator");
    const others = withGrant("update", { where: { "a.b": "$me" }, fields: ["x.y"], set: { z: 1 } });
    assert.deepEqual(await errorsOf(others, {}), []);
  });

  it("name fields of the collection itself across a reference to it", async () => {
    const own = { schema, references: { project: { collection: "posts" } } };
    assert.deepEqual(
      await errorsOf(withGrant("read", { where: { "project.author": "$me" } }), own),
      [],
    );
    const [error] = await errorsOf(withGrant("read", { where: { "project.autor": "$me" } }), own);
    assert.match(error?.detail ?? "", /no field "autor"/);
  });
});

describe("rules that are not valid", () => {
  const where = (condition: object) => withGrant("read", { where: condition });
  const at = "/access/read/0/where";
  const invalid: readonly [what: string, rules: object, pointer: string, detail: RegExp][] = [
    ["an unknown value", where({ author: "$nobody" }), `${at}/author`, /no value \$nobody.*\$\$n/],
    ["an unknown set", where({ team: { in: "$my.clubs" } }), `${at}/team/in`, /teams, tenants/],
    ["a list that is compared", where({ team: "$my.teams" }), `${at}/team`, /"in": "\$my\.teams"/],
    ["a list in a list", where({ team: { in: ["$my.teams"] } }), `${at}/team/in`, /stands alone/],
    ["one value as a list", where({ author: { in: "$me" } }), `${at}/author/in`, /use eq/],
    ["null", where({ author: null }), `${at}/author`, /exists: false/],
    ["an unknown field", where({ autor: "$me" }), `${at}/autor`, /no field "autor"/],
    ["a field nobody reads", where({ secret: "x" }), `${at}/secret`, /no field "secret"/],
    ["another type", where({ pages: "many" }), `${at}/pages`, /number/],
    ["$me as a number", where({ pages: "$me" }), `${at}/pages`, /texts.*number/],
    ["roles as numbers", where({ pages: { in: "$me.roles" } }), `${at}/pages/in`, /texts.*number/],
    ["$now as a number", where({ pages: { lt: "$now" } }), `${at}/pages/lt`, /time.*number/],
    ["an unknown operator", where({ pages: { above: 1 } }), `${at}/pages/above`, /operator/],
    ["no operator", where({ $owner: {} }), `${at}/$owner`, /operators/],
    ["the owner as a number", where({ $owner: 1 }), `${at}/$owner`, /string/],
    [
      "$owner in an element",
      where({ tags: { some: { $owner: 1 } } }),
      `${at}/tags/some/$owner`,
      /./,
    ],
    [
      "two references",
      where({ "project.team.lead": 1 }),
      `${at}/project.team.lead`,
      /one reference/,
    ],
    ["an unknown field elsewhere", where({ "project.boss": 1 }), `${at}/project.boss`, /projects/],
    ["inside of $or", where({ $or: [{ a: 1 }] }), `${at}/$or/0/a`, /no field "a"/],
    [
      "an unknown field of the boundary",
      { boundary: { tenants: "x" } },
      "/boundary/tenants",
      /no field/,
    ],
    ["an empty boundary", { boundary: {} }, "/boundary", /at least 1/],
    [
      "where before there is a resource",
      withGrant("create", { where: { author: "$me" } }),
      "/access/create/0/where",
      /use check/,
    ],
    [
      "the owner before there is one",
      withGrant("create", { to: "owner" }),
      "/access/create/0/to",
      /"token"/,
    ],
    ["a check of a read", withGrant("read", { check: {} }), "/access/read/0/check", /use where/],
    [
      "a value set by a read",
      withGrant("read", { set: {} }),
      "/access/read/0/set",
      /changes nothing/,
    ],
    [
      "a check of a deletion",
      withGrant("delete", { check: {} }),
      "/access/delete/0/check",
      /where/,
    ],
    [
      "fields of a deletion",
      withGrant("delete", { fields: [] }),
      "/access/delete/0/fields",
      /whole/,
    ],
    [
      "an unknown field that is shown",
      withGrant("read", { fields: ["titel"] }),
      "/access/read/0/fields/0",
      /no field titel.*title/,
    ],
    [
      "a field that is listed twice",
      withGrant("read", { fields: ["title", "title"] }),
      "/access/read/0/fields/1",
      /twice/,
    ],
    [
      "elements",
      withGrant("read", { fields: ["tags[]"] }),
      "/access/read/0/fields/0",
      /name the array/,
    ],
    [
      "a writeOnly field that is shown",
      withGrant("read", { fields: ["secret"] }),
      "/access/read/0/fields/0",
      /writeOnly/,
    ],
    [
      "a field of the server that is written",
      withGrant("update", { fields: ["updatedAt"] }),
      "/access/update/0/fields/0",
      /the server manages/,
    ],
    [
      "a reserved field",
      withGrant("update", { fields: ["_owner"] }),
      "/access/update/0/fields/0",
      /reserved/,
    ],
    [
      "an unknown field that is set",
      withGrant("create", { set: { autor: "$me" } }),
      "/access/create/0/set/autor",
      /no field autor/,
    ],
    [
      "another type that is set",
      withGrant("create", { set: { pages: "$me" } }),
      "/access/create/0/set/pages",
      /\$me is a string.*integer/,
    ],
    [
      "a value that the schema does not allow",
      withGrant("create", { set: { status: "sent" } }),
      "/access/create/0/set/status",
      /draft/,
    ],
    [
      "null that is set",
      withGrant("update", { set: { status: null } }),
      "/access/update/0/set/status",
      /null/,
    ],
    [
      "an unknown value that is set",
      withGrant("update", { set: { author: "$you" } }),
      "/access/update/0/set/author",
      /no value \$you/,
    ],
    [
      "a list that is set as a text",
      withGrant("update", { set: { author: "$my.teams" } }),
      "/access/update/0/set/author",
      /a list.*string/,
    ],
    [
      "another type that is set in an object",
      withGrant("update", { set: { "address.city": 1 } }),
      "/access/update/0/set/address.city",
      /must be text/,
    ],
    [
      "a value inside of a list that is set",
      withGrant("update", { set: { tags: ["$me"] } }),
      "/access/update/0/set/tags",
      /begin with \$/,
    ],
    [
      "a field of the boundary that an update sets",
      { boundary: { tenant: "a" }, ...withGrant("update", { set: { tenant: "b" } }) },
      "/access/update/0/set/tenant",
      /boundary/,
    ],
    [
      "an unknown role",
      withGrant("read", { to: { role: "author" } }),
      "/access/read/0/to/role",
      /no role author.*editor/,
    ],
    [
      "an unknown receiver",
      withGrant("read", { to: "someone" }),
      "/access/read/0/to",
      /"everyone", "token"/,
    ],
    [
      "an unknown member",
      withGrant("read", { deny: true }),
      "/access/read/0/deny",
      /a grant has name/,
    ],
  ];
  for (const [what, rules, pointer, detail] of invalid)
    it(`have one error: ${what}`, async () => {
      const errors = await errorsOf(rules);
      assert.deepEqual(
        errors.map((error) => error.pointer),
        [pointer],
        JSON.stringify(errors),
      );
      assert.match(errors[0]?.detail ?? "", detail);
    });

  it("have all their errors listed at once", async () => {
    const grant = { name: "one", to: "token" };
    const errors: readonly FieldError[] = await errorsOf({
      boundary: { tenant: null },
      access: {
        read: [grant, { ...grant, where: { autor: "$me", pages: "$you" }, fields: ["titel"] }],
        create: [{ ...grant, to: "owner", where: { team: "x" } }],
        delete: [{ ...grant, set: { title: "x" } }],
      },
    });
    assert.deepEqual(errors.map(({ pointer }) => pointer).sort(), [
      "/access/create/0/to",
      "/access/create/0/where",
      "/access/delete/0/set",
      "/access/read/1/fields/0",
      "/access/read/1/name",
      "/access/read/1/where/autor",
      "/access/read/1/where/pages",
      "/boundary/tenant",
    ]);
  });

  it("name at most 64 fields", async () => {
    const fields = Array.from({ length: 65 }, (_, index) => [`f${index}`, 1]);
    const rules = withGrant("read", { where: Object.fromEntries(fields) });
    const [error, ...more] = await errorsOf(rules, {});
    assert.deepEqual([error?.pointer, more], ["/access", []]);
  });

  it("index the fields that they choose resources by, without being asked", () => {
    const where = {
      status: "out",
      $or: [{ "address.city": "Rome" }, { createdAt: { lt: "$now" } }],
    };
    const rules = {
      boundary: { tenant: { in: "$my.tenants" } },
      access: {
        read: [{ name: "a", to: "everyone", where }],
        update: [{ name: "b", to: "token", where: { author: "$me" }, check: { done: true } }],
      },
    };
    const { indexes } = indexPlanOf(JSON.stringify(rules));
    assert.deepEqual(indexes.map(({ name }) => name).toSorted(), [
      ...["address.city", "author", "status", "tenant"],
    ]);
  });

  it("have at most 16 grants for a verb", async () => {
    const grants = Array.from({ length: 17 }, (_, index) => ({ name: `g${index}`, to: "token" }));
    const [error] = await errorsOf({ access: { read: grants } }, {});
    assert.equal(error?.pointer, "/access/read");
  });
});
