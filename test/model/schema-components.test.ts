// The names of the OpenAPI components of a collection whose schema refers to itself.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectionComponents } from "../../src/model/collection-components.ts";

const recursive = {
  properties: {
    friends: { type: "array", items: { $ref: "#" } },
    home: { $ref: "#/$defs/address" },
  },
  $defs: { address: { properties: { up: { $ref: "#/$defs/address" }, of: { $ref: "#" } } } },
};

/** Returns the component that each reference in each component points to. */
function referencesOf(schema: Record<string, unknown>): Record<string, readonly string[]> {
  const [described] = collectionComponents([{ name: "people", schema }]);
  const namesIn = (component: object): readonly string[] =>
    [...JSON.stringify(component).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name]) => name ?? "",
    );
  const components = Object.entries(described?.schemas ?? {});
  return Object.fromEntries(components.map(([name, component]) => [name, namesIn(component)]));
}

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
});
