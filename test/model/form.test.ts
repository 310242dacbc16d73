// Forms: how the texts of fields become values.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Rules } from "../../src/model/collection.ts";
import { draftOf } from "../../src/model/draft.ts";
import { fieldsOfForm, formLimits, isHoneypotFilled, type Pair } from "../../src/model/form.ts";
import { Problem } from "../../src/model/problem.ts";
import fc, { anyText } from "../fast-check.ts";

const rulesOf = (definition: object): Rules => ({
  version: 1,
  definition: JSON.stringify(definition),
});

/** The pairs of a query string, where nothing is encoded. */
const pairsOf = (text: string): readonly Pair[] =>
  text === ""
    ? []
    : text.split("&").map((piece) => {
        const cut = piece.indexOf("=");
        return [piece.slice(0, cut), piece.slice(cut + 1)];
      });

function read(form: string, properties?: object): string {
  const fields = fieldsOfForm(pairsOf(form), properties && rulesOf({ schema: { properties } }));
  assert.ok(typeof fields === "string", JSON.stringify(fields));
  return fields;
}

function errors(form: string, properties: object): readonly unknown[] {
  const problem = fieldsOfForm(pairsOf(form), rulesOf({ schema: { properties } }));
  assert.ok(problem instanceof Problem, JSON.stringify(problem));
  assert.equal(problem.kind, "invalid-body");
  return problem.errors ?? [];
}

describe("a form without a schema", () => {
  const forms: readonly [form: string, fields: string][] = [
    ["", "{}"],
    ["a=1&b=true&c=", '{"a":"1","b":"true","c":""}'],
    ["b=2&a=1&b=3", '{"b":["2","3"],"a":"1"}'],
    ["a=&a=", '{"a":["",""]}'],
    ["a.b=1&a[b]=2&a[]=3&a[=4&]=5", '{"a.b":"1","a[b]":"2","a[]":"3","a[":"4","]":"5"}'],
    ["=1", '{"":"1"}'],
    ['a=say "hi"\\', '{"a":"say \\"hi\\"\\\\"}'],
    ["_charset_=UTF-8&a=1", '{"a":"1"}'],
    ["constructor=1&toString=2", '{"constructor":"1","toString":"2"}'],
  ];
  for (const [form, fields] of forms)
    it(`has texts: ${form || "nothing"}`, () => {
      assert.equal(read(form), fields);
      assert.equal(read(form, {}), fields);
    });

  it("keeps the name __proto__, so that it is rejected as in JSON", () => {
    const fields = read("__proto__=1");
    assert.equal(fields, '{"__proto__":"1"}');
    assert.deepEqual(draftOf(fields), [
      { pointer: "/__proto__", detail: "__proto__ is not accepted as a name" },
    ]);
    assert.equal(Object.hasOwn(Object.prototype, "1"), false);
  });

  it("keeps every text exactly", () => {
    const texts = fc.dictionary(anyText(), anyText());
    fc.assert(
      fc.property(texts, (fields) => {
        delete fields._charset_;
        const written = fieldsOfForm(Object.entries(fields), undefined);
        assert.ok(typeof written === "string");
        assert.deepEqual({ ...JSON.parse(written) }, { ...fields });
      }),
    );
  });
});

describe("a text in a form", () => {
  const number = { type: "number" };
  const integer = { type: "integer" };
  const boolean = { type: "boolean" };
  const string = { type: "string" };
  const list = (items: object) => ({ type: "array", items });
  const nullable = (type: string) => ({ type: [type, "null"] });
  const cases: readonly (readonly [schema: object, form: string, fields: string])[] = [
    [integer, "a=42", '{"a":42}'],
    [integer, "a=-1", '{"a":-1}'],
    [integer, "a= 007 ", '{"a":7}'],
    [integer, "a=000", '{"a":0}'],
    [integer, "a=1.5", '{"a":1.5}'],
    [integer, "a=many", '{"a":"many"}'],
    [integer, "a=0x10", '{"a":"0x10"}'],
    [integer, "a=1_000", '{"a":"1_000"}'],
    [integer, "a=Infinity", '{"a":"Infinity"}'],
    [integer, "a=-", '{"a":"-"}'],
    [integer, "a=e5", '{"a":"e5"}'],
    [integer, "a=12345678901234567890", '{"a":12345678901234567890}'],
    [integer, "a=", "{}"],
    [number, "a=.5", '{"a":0.5}'],
    [number, "a=-.50", '{"a":-0.50}'],
    [number, "a=1e3", '{"a":1e3}'],
    [number, "a=1.", '{"a":"1."}'],
    [number, "a=1,5", '{"a":"1,5"}'],
    ...["on", "true", "1"].map((text) => [boolean, `a=${text}`, '{"a":true}'] as const),
    ...["off", "false", "0", ""].map((text) => [boolean, `a=${text}`, '{"a":false}'] as const),
    [boolean, "a=yes", '{"a":"yes"}'],
    [nullable("boolean"), "a=", "{}"],
    [nullable("string"), "a=", "{}"],
    [nullable("string"), "a=null", '{"a":"null"}'],
    [nullable("integer"), "a=5", '{"a":5}'],
    [string, "a=42", '{"a":"42"}'],
    [string, "a=", '{"a":""}'],
    [{ type: ["string", "integer"] }, "a=42", '{"a":"42"}'],
    [{ type: "string", format: "email" }, "a=", "{}"],
    [{ type: "string", minLength: 1 }, "a=", "{}"],
    [{ type: "string", minLength: 3 }, "a=x", '{"a":"x"}'],
    [{ type: "string", pattern: "^[a-z]*$" }, "a=", '{"a":""}'],
    [{ enum: ["small", "large"] }, "a=", "{}"],
    [{ enum: [1, 2] }, "a=2", '{"a":2}'],
    [{ const: true }, "a=on", '{"a":true}'],
    [{ type: "object" }, "a=x", '{"a":"x"}'],
    [{ type: "object" }, "a=", "{}"],
    [{ type: "null" }, "a=", "{}"],
    [{}, "a=1&a=2", '{"a":["1","2"]}'],
    [{ anyOf: [integer, { type: "null" }] }, "a=3", '{"a":3}'],
    [{ oneOf: [integer, boolean] }, "a=1", '{"a":1}'],
    [{ oneOf: [integer, boolean] }, "a=on", '{"a":true}'],
    [{ anyOf: [integer, {}] }, "a=3", '{"a":"3"}'],
    [{ allOf: [integer, { minimum: 3 }] }, "a=3", '{"a":3}'],
    [{ $ref: "#/properties/b" }, "a=3", '{"a":3}'],
    [list(string), "a=x", '{"a":["x"]}'],
    [list(string), "a=x&a=&a=y", '{"a":["x","","y"]}'],
    [list(string), "a=", "{}"],
    [list(string), "a[]=x&a[]=y", '{"a":["x","y"]}'],
    [list(string), "a[]=x&a=y", '{"a":["x","y"]}'],
    [list(integer), "a=1&a=&a=x", '{"a":[1,"x"]}'],
    [list(integer), "a=&a=", "{}"],
    [{ type: "array" }, "a=1", '{"a":["1"]}'],
    [{ type: ["array", "string"] }, "a=1", '{"a":"1"}'],
    [{ type: ["array", "string"] }, "a=1&a=2", '{"a":["1","2"]}'],
    [{ type: ["array", "null"], items: integer }, "a=1", '{"a":[1]}'],
  ];
  for (const [schema, form, fields] of cases)
    it(`that is ${form} is ${fields} where ${JSON.stringify(schema)}`, () =>
      assert.equal(read(form, { a: schema, b: integer }), fields));

  it("that no double can represent is rejected as in JSON", () => {
    const fields = draftOf(read("a=12345678901234567890", { a: integer }));
    assert.ok(Array.isArray(fields));
    assert.deepEqual(
      fields.map(({ pointer }) => pointer),
      ["/a"],
    );
  });

  it("that is repeated where one is allowed is rejected by name", () => {
    const properties = { age: integer, ok: boolean, tags: list(string) };
    const detail = "this field was sent 2 times, but takes one value";
    assert.deepEqual(errors("age=1&ok=on&age=2&ok=off&tags=a&tags=b", properties), [
      { pointer: "/age", detail },
      { pointer: "/ok", detail },
    ]);
  });

  it("is parsed in linear time", () => {
    const long = "0".repeat(300_000);
    assert.equal(read(`a=${long}x`, { a: number }), `{"a":"${long}x"}`);
    const name = "[]".repeat(150_000);
    assert.equal(read(`${name}=1`, { a: number }), `{"${name}":"1"}`);
  });
});

describe("a name in a form", () => {
  const address = {
    type: "object",
    properties: {
      city: { type: "string" },
      zip: { type: "integer" },
      "a.b": { type: "integer" },
      geo: {
        anyOf: [{ properties: { lat: { type: "number" } }, type: "object" }, { type: "null" }],
      },
      twin: { $ref: "#/properties/address" },
      tags: { type: "array" },
    },
  };
  const properties = { address, "x.y": { type: "integer" }, name: { type: "string" } };
  const cases: readonly [form: string, fields: string][] = [
    ["address[city]=Rome&address[zip]=1", '{"address":{"city":"Rome","zip":1}}'],
    ["address.city=Rome&name=A&address.zip=1", '{"address":{"city":"Rome","zip":1},"name":"A"}'],
    ["address[a.b]=1", '{"address":{"a.b":1}}'],
    ["address[more]=1", '{"address":{"more":"1"}}'],
    ["address[geo][lat]=1.5", '{"address":{"geo":{"lat":1.5}}}'],
    ["address.geo[lat]=1.5", '{"address":{"geo":{"lat":1.5}}}'],
    ["address[twin].twin[zip]=9", '{"address":{"twin":{"twin":{"zip":9}}}}'],
    ["address[tags][]=a", '{"address":{"tags":["a"]}}'],
    ["x.y=1", '{"x.y":1}'],
    ["address[zip]=", "{}"],
    ["address=&address[zip]=1", '{"address":{"zip":1}}'],
    ["name[first]=A", '{"name[first]":"A"}'],
    ["address[more][still]=1", '{"address[more][still]":"1"}'],
    ["other[city]=1", '{"other[city]":"1"}'],
    ["address[]=1", '{"address[]":"1"}'],
    ["address[=1", '{"address[":"1"}'],
    ["address..city=1", '{"address..city":"1"}'],
    ["address[__proto__]=1", '{"address":{"__proto__":"1"}}'],
  ];
  for (const [form, fields] of cases)
    it(`${form} is ${fields}`, () => assert.equal(read(form, properties), fields));

  it("may be written in two ways, but only once", () => {
    assert.deepEqual(errors("address[zip]=1&address.zip=2", properties), [
      { pointer: "/address/zip", detail: "this field was sent 2 times, but takes one value" },
    ]);
  });

  for (const form of ["address=x&address[zip]=1", "address[zip]=1&address=x"])
    it(`cannot be a text and an object: ${form}`, () => {
      const [first] = errors(form, properties);
      assert.match(JSON.stringify(first), /both as a value and as an object/);
    });

  it("is limited in depth as in JSON", () => {
    const deep = (steps: number) => `address${"[twin]".repeat(steps)}[zip]=1`;
    assert.ok("fields" in draftOf(read(deep(62), properties)));
    for (const steps of [63, 64, 65, 50_000]) {
      const [error] = draftOf(read(deep(steps), properties)) as readonly { detail: string }[];
      assert.equal(error?.detail, "nested deeper than 64 levels");
    }
  });

  it("is not read beyond that depth, so its end does not matter", () => {
    const deep = read(`address${"[twin]".repeat(65)}]=1`, properties);
    const [error] = draftOf(deep) as readonly { detail: string }[];
    assert.equal(error?.detail, "nested deeper than 64 levels");
    const steps = "[twin]".repeat(63);
    assert.equal(read(`address${steps}]=1`, properties), `{"address${steps}]":"1"}`);
  });

  it("is limited in number as in JSON", () => {
    const form = (count: number) => Array.from({ length: count }, (_, n) => `f${n}=`).join("&");
    assert.ok("fields" in draftOf(read(form(formLimits.maxFields), {})));
    assert.deepEqual(errors(form(formLimits.maxFields + 1), {}), [
      { pointer: "", detail: "a form must not have more than 1000 fields" },
    ]);
  });
});

describe("a honeypot", () => {
  const rules = rulesOf({ honeypot: "website" });

  it("is never stored", () =>
    assert.equal(fieldsOfForm(pairsOf("a=1&website=x&website="), rules), '{"a":"1"}'));

  const forms: readonly [form: string, caught: boolean][] = [
    ["a=1", false],
    ["a=1&website=", false],
    ["a=1&website=x", true],
    ["website=&website= ", true],
    ["Website=x", false],
  ];
  for (const [form, caught] of forms)
    it(`${caught ? "rejects" : "accepts"} ${form}`, () => {
      assert.equal(isHoneypotFilled(pairsOf(form), rules), caught);
      assert.equal(isHoneypotFilled(pairsOf(form), rulesOf({})), false);
      assert.equal(isHoneypotFilled(pairsOf(form), undefined), false);
    });
});
