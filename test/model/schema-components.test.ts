// The names of OpenAPI components whose schemas refer to themselves and to each other.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { portableDocument } from "../../src/http/openapi/portable.ts";
import { collectionComponents } from "../../src/model/collection-components.ts";

const recursive = {
  properties: {
    friends: { type: "array", items: { $ref: "#" } },
    home: { $ref: "#/$defs/address" },
  },
  $defs: { address: { properties: { up: { $ref: "#/$defs/address" }, of: { $ref: "#" } } } },
};

const namesIn = (value: unknown): readonly string[] =>
  [...JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name ?? "",
  );

/** Returns the component that each reference in each component points to. */
const referencesIn = (components: object): Record<string, readonly string[]> =>
  Object.fromEntries(Object.entries(components).map(([name, one]) => [name, namesIn(one)]));

const referencesOf = (schema: Record<string, unknown>) =>
  referencesIn(collectionComponents([{ name: "people", schema }])[0]?.schemas ?? {});

describe("a schema that refers to itself", () => {
  it("has one component for each schema where reading and writing are the same", () => {
    assert.deepEqual(referencesOf(recursive), {
      People: ["PeopleDraft", "PeopleAddress"],
      PeopleDraft: ["PeopleDraft", "PeopleAddress"],
      PeopleAddress: ["PeopleAddress", "PeopleDraft"],
    });
  });

  it("has one component for each schema and direction where they differ", () => {
    const password = { type: "string", writeOnly: true };
    const schema = { ...recursive, properties: { ...recursive.properties, password } };
    assert.deepEqual(referencesOf(schema), {
      People: ["PeopleFields", "PeopleAddress"],
      PeopleFields: ["PeopleFields", "PeopleAddress"],
      PeopleAddress: ["PeopleAddress", "PeopleFields"],
      PeopleDraft: ["PeopleDraft", "PeopleDraftAddress"],
      PeopleDraftAddress: ["PeopleDraftAddress", "PeopleDraft"],
    });
  });

  it("has names that no other component has, nor its variants", () => {
    const office = { $defs: structuredClone(recursive.$defs) };
    const work = { $ref: "#/properties/office/$defs/address" };
    const schema = { ...recursive, properties: { ...recursive.properties, office, work } };
    const others = ["people-address", "people-address2-draft", "people-address3-patch"];
    const described = collectionComponents(
      [{ name: "people", schema }, ...others.map((name) => ({ name }))],
      ["PeopleAddress4Item"],
    );
    const names = described.flatMap(({ schemas }) => Object.keys(schemas));
    assert.deepEqual(
      names.filter((name) => /^PeopleAddress\d*$/.test(name)),
      ["PeopleAddress5", "PeopleAddress6", "PeopleAddress"],
    );
    assert.equal(new Set(names).size, names.length);
  });
});

describe("a component that is different in a request", () => {
  it("is split, and so is each that refers to it", () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const schemas = {
      Tree: { properties: { left: ref("Tree"), leaf: ref("Leaf"), size: ref("Size") } },
      Leaf: { properties: { tree: ref("Tree"), n: { type: "string", default: "x" } } },
      Size: { type: "string" },
    };
    const content = { "application/json": { schema: ref("Tree") } };
    const put = { requestBody: { content }, responses: { "200": { content } } };
    const whole = { paths: { "/": { put } }, components: { schemas } };
    const document = JSON.parse(JSON.stringify(portableDocument(whole, "3.1", [])));
    const { requestBody, responses } = document.paths["/"].put;
    assert.deepEqual(namesIn(requestBody), ["TreeDraft"]);
    assert.deepEqual(namesIn(responses), ["Tree"]);
    assert.deepEqual(referencesIn(document.components.schemas), {
      Tree: ["Tree", "Leaf", "Size"],
      TreeDraft: ["TreeDraft", "LeafDraft", "Size"],
      Leaf: ["Tree"],
      LeafDraft: ["TreeDraft"],
      Size: [],
    });
  });
});
