// The validator of a collection: errors, defaults, read-only and write-only fields.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formats } from "../../src/lib/schema/formats.ts";
import { openDefinition } from "../../src/model/definition.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { type ResourceValidator, validatorOf } from "../../src/model/validator.ts";

function shapeBy(schema: object): ResourceValidator {
  const definition = readDefinition(JSON.stringify({ schema }));
  assert.ok("preconditions" in definition, JSON.stringify(definition));
  return validatorOf(definition);
}

/** Each error as `pointer: message`. */
function errorsOf(validator: ResourceValidator, fields: string, before?: string, isAdmin = false) {
  const accepted = validator.accept(fields, before, isAdmin);
  assert.ok(typeof accepted !== "string", `accepted ${fields}`);
  return accepted.map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

describe("a validator", () => {
  it("accepts everything without a schema", () => {
    const validator = validatorOf(openDefinition);
    const fields = '{"a":1.0,"b":[1e2,{}]}';
    assert.equal(validator.accept(fields, undefined, false), fields);
    assert.equal(validator.visible(fields), fields);
    assert.equal(validator.withHidden(fields, "{}"), fields);
    assert.deepEqual(
      [validator.hasHidden, validator.dependsOnStored, validator.isHidden("a")],
      [false, false, false],
    );
  });

  it("is created once for a definition", () => {
    const definition = { ...openDefinition, schema: {} };
    assert.equal(validatorOf(definition), validatorOf(definition));
  });

  it("accepts every price in cents as a multiple of 0.01", () => {
    const price = { type: "number", multipleOf: 0.01, exclusiveMinimum: 0 };
    const validator = shapeBy({ properties: { price, any: { anyOf: [price, { type: "null" }] } } });
    for (const text of ["1000000.01", "1396.07", "99999999.99", "4503599627370.49", "1e3", "0.07"])
      assert.equal(
        typeof validator.accept(`{"price":${text},"any":${text}}`, undefined, false),
        "string",
      );
    for (const text of ["1000000.001", "0.005", "99999999.999"])
      assert.deepEqual(errorsOf(validator, `{"price":${text}}`), [
        "/price: must be a multiple of 0.01",
      ]);
  });

  it("leaves valid fields unchanged", () => {
    const validator = shapeBy({ properties: { a: { type: "number" } } });
    const fields = '{"b\\u0041":1e2,"a":1.50,"c":"\\u0041"}';
    assert.equal(validator.accept(fields, undefined, false), fields);
  });
});

describe("names in a schema", () => {
  const text = { type: "string" };
  const names = [
    "$id",
    "$ref",
    "$anchor",
    "toString",
    "valueOf",
    "constructor",
    `a'"\`\${1}\n`,
    "\u2028",
  ];
  const validator = shapeBy({
    $id: "https://example.com/people",
    properties: Object.fromEntries(names.map((name) => [name, { $ref: "#/$defs/text" }])),
    required: ["hasOwnProperty"],
    $defs: { text },
  });

  it("are names, whatever they look like", () => {
    const good = Object.fromEntries(["hasOwnProperty", ...names].map((name) => [name, "x"]));
    const fields = JSON.stringify(good);
    assert.equal(validator.accept(fields, undefined, false), fields);
    const bad = Object.fromEntries(names.map((name) => [name, 1]));
    assert.deepEqual(
      errorsOf(validator, JSON.stringify(bad)).sort(),
      [
        ...names.map((name) => `/${name}: must be text, not a number`),
        "/hasOwnProperty: hasOwnProperty is required",
      ].sort(),
    );
  });

  it("are not inherited from Object.prototype", () => {
    assert.deepEqual(errorsOf(validator, "{}"), ["/hasOwnProperty: hasOwnProperty is required"]);
  });

  it("in a constant are not keywords", () => {
    const constant = shapeBy({
      properties: { a: { const: { $id: "x", $ref: "y" } }, toString: { enum: [{ b: [1] }] } },
    });
    const fields = '{"a":{"$ref":"y","$id":"x"},"toString":{"b":[1]}}';
    assert.equal(constant.accept(fields, undefined, false), fields);
  });
});

describe("an error", () => {
  const a = (schema: object) => ({ properties: { a: schema } });
  const conditional = JSON.parse(
    '{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}',
  );
  const cases: readonly [schema: object, fields: string, errors: readonly string[]][] = [
    [
      { required: ["email", "name"] },
      "{}",
      ["/email: email is required", "/name: name is required"],
    ],
    [{ required: ["toString"] }, "{}", ["/toString: toString is required"]],
    [a({ type: "number" }), '{"a":"1"}', ["/a: must be a number, not text"]],
    [a({ type: "integer" }), '{"a":1.5}', ["/a: must be a whole number, not 1.5"]],
    [a({ type: ["string", "null"] }), '{"a":[]}', ["/a: must be text or null, not a list"]],
    [a({ type: "boolean" }), '{"a":{}}', ["/a: must be true or false, not an object"]],
    [a({ type: "object" }), '{"a":null}', ["/a: must be an object, not null"]],
    [a({ type: "string", minLength: 3 }), '{"a":1}', ["/a: must be text, not a number"]],
    [a({ type: "string", minLength: 3, enum: ["abc"] }), '{"a":1}', ['/a: must be one of: "abc"']],
    [
      a({ type: "array", items: { type: "string" }, examples: [["x", "y"]] }),
      '{"a":"x"}',
      ['/a: must be a list such as ["x","y"], not text'],
    ],
    [
      a({ maxItems: 2, items: { type: "string" } }),
      '{"a":[1,"x",2,3]}',
      ["/a: must have at most 2 items, but has 4", "/a/0: must be text, not a number"],
    ],
    [
      a({ maxProperties: 1, additionalProperties: { type: "string" } }),
      '{"a":{"b":1,"c":2}}',
      ["/a: must have at most 1 field", "/a/b: must be text, not a number"],
    ],
    [a({ format: "email" }), '{"a":"x"}', ["/a: must be an email address"]],
    [a({ minLength: 1 }), '{"a":""}', ["/a: must not be empty"]],
    [a({ minLength: 2 }), '{"a":"x"}', ["/a: must have at least 2 characters"]],
    [a({ maxLength: 1 }), '{"a":"x😀"}', ["/a: must have at most 1 character, but has 2"]],
    [a({ pattern: "^[a-z]+\\.$" }), '{"a":"X"}', ["/a: must match the pattern ^[a-z]+\\.$"]],
    [a({ minimum: 0 }), '{"a":-1}', ["/a: must be at least 0"]],
    [a({ maximum: 10 }), '{"a":11}', ["/a: must be at most 10"]],
    [a({ exclusiveMinimum: 0 }), '{"a":0}', ["/a: must be more than 0"]],
    [a({ exclusiveMaximum: 1 }), '{"a":1}', ["/a: must be less than 1"]],
    [a({ multipleOf: 0.01 }), '{"a":19.999}', ["/a: must be a multiple of 0.01"]],
    [a({ enum: ["x", 1, null] }), '{"a":2}', ['/a: must be one of: "x", 1, null']],
    [
      a({ enum: Array.from({ length: 12 }, (_, n) => n) }),
      '{"a":-1}',
      ["/a: must be one of: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"],
    ],
    [a({ const: "x" }), '{"a":1}', ['/a: must be "x"']],
    [a({ minItems: 1 }), '{"a":[]}', ["/a: must have at least 1 item"]],
    [a({ maxItems: 1 }), '{"a":[1,2]}', ["/a: must have at most 1 item, but has 2"]],
    [
      a({ uniqueItems: true }),
      '{"a":[{"b":1},{"b":1}]}',
      ["/a: must not contain the same item twice"],
    ],
    [
      a({ items: { type: "string" } }),
      '{"a":["x",1,2]}',
      ["/a/1: must be text, not a number", "/a/2: must be text, not a number"],
    ],
    [
      a({ prefixItems: [true, { type: "null" }], items: false }),
      '{"a":[1,2,3]}',
      ["/a/1: must be null, not a number", "/a/2: no value is allowed here"],
    ],
    [
      a({ contains: { const: 1 }, minContains: 2 }),
      '{"a":[1]}',
      ["/a: must contain at least 2 items that match the contains schema"],
    ],
    [{ minProperties: 2 }, "{}", [": must have at least 2 fields"]],
    [{ maxProperties: 1 }, '{"a":1,"b":2}', [": must have at most 1 field"]],
    [
      { properties: { b: true, c: true }, additionalProperties: false },
      '{"a":1,"b":1}',
      ["/a: unknown field; known fields: b, c"],
    ],
    [{ additionalProperties: false }, '{"a/~":1}', ["/a~1~0: unknown field"]],
    [{ additionalProperties: { type: "string" } }, '{"a":1}', ["/a: must be text, not a number"]],
    [
      { properties: { b: true }, unevaluatedProperties: false },
      '{"a":1,"b":1}',
      ["/a: unknown field"],
    ],
    [
      { allOf: [{ properties: { b: { type: "string" } } }], unevaluatedProperties: false },
      '{"b":1}',
      ["/b: must be text, not a number"],
    ],
    [a({ prefixItems: [true], unevaluatedItems: false }), '{"a":[1,2]}', ["/a/1: unknown field"]],
    [
      { patternProperties: { "^n": { type: "number" } } },
      '{"n1":"x","m":"x"}',
      ["/n1: must be a number, not text"],
    ],
    [
      { propertyNames: { maxLength: 1 } },
      '{"a":1,"bc":1}',
      ["/bc: this field name is not allowed"],
    ],
    [{ dependentRequired: { a: ["b"] } }, '{"a":1}', ["/b: b is required when a is present"]],
    [{ dependentSchemas: { a: { required: ["b"] } } }, '{"a":1}', ["/b: b is required"]],
    [conditional, '{"a":1}', ["/b: b is required"]],
    [conditional, "{}", ["/c: c is required"]],
    [a({ not: { type: "string" } }), '{"a":"x"}', ["/a: must not match the schema in `not`"]],
    [a(false as never), '{"a":1}', ["/a: no value is allowed here"]],
    [
      a({ anyOf: [{ type: "string" }, { type: "null" }] }),
      '{"a":1}',
      ["/a: must be text or null, not a number"],
    ],
    [
      a({ anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] }),
      '{"a":"x"}',
      ["/a: must have at least 3 characters"],
    ],
    [
      a({
        oneOf: [
          { properties: { kind: { const: "card" } }, required: ["number"] },
          { $ref: "#/$defs/cash" },
        ],
      }),
      '{"a":{"kind":"card"}}',
      ["/a/number: number is required"],
    ],
    ...[
      ['{"a":{"kind":"cheque"}}', '/a/kind: must be one of: "card", "cash", "coin", "note"'],
      [
        '{"a":{"number":1}}',
        '/a/kind: kind is required and selects the form: it must be one of: "card", "cash", "coin", "note"',
      ],
      ['{"a":{"kind":"coin","value":"x"}}', "/a/value: must be a number, not text"],
      ['{"a":{"kind":"card"}}', "/a/number: number is required"],
      ['{"a":7}', "/a: must be an object, not a number"],
    ].map(([fields = "", error = ""]): (typeof cases)[number] => [
      a({
        oneOf: [
          {
            type: "object",
            properties: { note: {}, kind: { const: "card" } },
            required: ["kind", "number"],
          },
          { $ref: "#/$defs/cashed" },
          {
            type: "object",
            properties: { kind: { enum: ["coin", "note"] }, value: { type: "number" } },
            required: ["kind"],
          },
        ],
      }),
      fields,
      [error],
    ]),
    [
      a({ oneOf: [{ type: "object", properties: { kind: { const: "x" } } }, { type: "null" }] }),
      '{"a":{"kind":"y"}}',
      ['/a/kind: must be "x"'],
    ],
    [
      a({ oneOf: [{ const: "x" }, { const: "y" }, { enum: ["z", 1] }] }),
      '{"a":"w"}',
      ['/a: must be one of: "x", "y", "z", 1'],
    ],
    [
      a({
        oneOf: [
          { type: "object", required: ["b"] },
          { type: "object", required: ["c"] },
        ],
      }),
      '{"a":{}}',
      ["/a: matches none of the 2 allowed forms"],
    ],
    [a({ multipleOf: 0.01 }), '{"a":1000000.015}', ["/a: must be a multiple of 0.01"]],
    [
      a({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }),
      '{"a":3}',
      ["/a: matches 2 of the allowed forms, but must match exactly one"],
    ],
    [
      a({ anyOf: [{ minimum: 2 }, { maximum: -2 }] }),
      '{"a":0}',
      ["/a: matches none of the 2 allowed forms"],
    ],
    [a({ $ref: "#/$defs/cash" }), '{"a":{"kind":"x"}}', ['/a/kind: must be "cash"']],
    [
      a({ properties: { b: { type: "string" } }, required: ["c"] }),
      '{"a":{"b":1}}',
      ["/a/b: must be text, not a number", "/a/c: c is required"],
    ],
    [
      a({ items: { $ref: "#" } }),
      '{"a":[{"a":1},{"a":[2]}]}',
      ["/a/1/a/0: must be an object, not a number"],
    ],
    [
      { properties: { constructor: { type: "string" }, toString: { type: "string" } } },
      '{"constructor":1,"toString":2}',
      ["/constructor: must be text, not a number", "/toString: must be text, not a number"],
    ],
  ];
  const cash = { properties: { kind: { const: "cash" } } };
  const $defs = { cash, cashed: { type: "object", required: ["kind"], ...cash } };
  for (const [schema, fields, errors] of cases)
    it(`${JSON.stringify(schema).slice(0, 90)} of ${fields}`, () => {
      const validator = shapeBy({ type: "object", $defs, ...schema });
      assert.deepEqual(errorsOf(validator, fields), errors);
    });

  it("is reported with all others, up to a hundred", () => {
    const validator = shapeBy({ additionalProperties: { type: "string" } });
    const fields = JSON.stringify(
      Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}`, n])),
    );
    assert.equal(errorsOf(validator, fields).length, 100);
  });

  it("is found without reading all of a large document", () => {
    const validator = shapeBy(a({ items: { type: "string" } }));
    const fields = `{"a":[${'"x",'.repeat(250_000)}1]}`;
    assert.deepEqual(errorsOf(validator, fields), [": does not match the schema"]);
  });

  it("exists for every format, and every format is checked", () => {
    for (const format of Object.keys(formats)) {
      const validator = shapeBy(a({ format }));
      const bad = format === "regex" ? "(" : " { ";
      assert.deepEqual(errorsOf(validator, JSON.stringify({ a: bad })), [
        `/a: must be ${formats[format]}`,
      ]);
    }
  });

  it("is reported quickly for a text that is too long for any format", () => {
    const validator = shapeBy(a({ format: "iri" }));
    const fields = JSON.stringify({ a: `http://${"ü.".repeat(500_000)}` });
    assert.deepEqual(errorsOf(validator, fields), [
      "/a: must have at most 8192 characters, as any iri",
    ]);
  });

  it("is reported without matching a slow pattern on a text that is too long for it", () => {
    const validator = shapeBy(a({ pattern: "a.*b", maxLength: 256 }));
    assert.deepEqual(errorsOf(validator, JSON.stringify({ a: "a".repeat(1_000_000) })), [
      "/a: must have at most 256 characters, but has 1000000",
    ]);
  });

  it("is found in the deepest document", () => {
    const validator = shapeBy({ properties: { a: { $ref: "#" }, n: { type: "number" } } });
    const nest = (inner: string) => `${'{"a":'.repeat(63)}${inner}${"}".repeat(63)}`;
    assert.equal(validator.accept(nest('{"n":1}'), undefined, false), nest('{"n":1}'));
    assert.deepEqual(errorsOf(validator, nest('{"n":""}')), [
      `${"/a".repeat(63)}/n: must be a number, not text`,
    ]);
  });
});

describe("a default", () => {
  const validator = shapeBy({
    required: ["role"],
    properties: {
      role: { enum: ["guest", "member"], default: "guest" },
      price: { type: "number", default: 1.5 },
      address: { $ref: "#/$defs/address" },
      lines: { items: { properties: { count: { default: 1 } } } },
      tree: { default: {}, properties: { leaf: { default: 1 } } },
    },
    $defs: { address: { properties: { country: { default: "NL" }, 'a"b': { default: null } } } },
  });
  const cases: readonly [given: string, stored: string][] = [
    ["{}", '{"role":"guest","price":1.5,"tree":{}}'],
    ['{"price":2.50,"tree":1}', '{"price":2.50,"tree":1,"role":"guest"}'],
    [
      '{"role":"member","price":1,"tree":1,"address":{"city":"\\u0041"}}',
      '{"role":"member","price":1,"tree":1,"address":{"city":"\\u0041","country":"NL","a\\"b":null}}',
    ],
    [
      '{"role":"member","price":1,"tree":{},"lines":[{"count":2.0},{},3]}',
      '{"role":"member","price":1,"tree":{"leaf":1},"lines":[{"count":2.0},{"count":1},3]}',
    ],
  ];
  for (const [given, stored] of cases)
    it(`changes ${given} to ${stored}`, () =>
      assert.equal(validator.accept(given, undefined, false), stored));

  it("of an item applies where `items` does", () => {
    const list = { prefixItems: [{}], items: { properties: { b: { default: 2 } } } };
    const rest = shapeBy({ properties: { a: list } });
    assert.equal(rest.accept('{"a":[{},{}]}', undefined, false), '{"a":[{},{"b":2}]}');
  });

  it("is not filled in where there is a value, even null", () => {
    const fields = '{"role":"member","price":0,"tree":null}';
    assert.equal(validator.accept(fields, undefined, false), fields);
  });
});

describe("a readOnly field", () => {
  const validator = shapeBy({
    properties: {
      verified: { type: "boolean", readOnly: true, default: false },
      rank: { type: "number", readOnly: true },
      account: {
        type: "object",
        properties: { plan: { type: "string", readOnly: true }, name: { type: "string" } },
      },
    },
  });
  const before = '{"verified":true,"rank":1.0,"account":{"plan":"gold","name":"a"}}';
  const accepted: readonly [
    what: string,
    given: string,
    old: string | undefined,
    isAdmin: boolean,
    stored: string,
  ][] = [
    ["has its default from the start", "{}", undefined, false, '{"verified":false}'],
    ["may be sent as its default", '{"verified":false}', undefined, false, '{"verified":false}'],
    [
      "is set by an admin",
      '{"verified":true,"rank":2}',
      undefined,
      true,
      '{"verified":true,"rank":2}',
    ],
    [
      "is kept when left out",
      '{"account":{"name":"b"}}',
      before,
      false,
      '{"account":{"name":"b","plan":"gold"},"verified":true,"rank":1.0}',
    ],
    [
      "is kept when what it is in is left out",
      '{"rank":1}',
      before,
      false,
      '{"rank":1,"verified":true,"account":{"plan":"gold"}}',
    ],
    [
      "may be sent as it is",
      '{"verified":true,"rank":1,"account":{"plan":"gold"}}',
      before,
      false,
      '{"verified":true,"rank":1,"account":{"plan":"gold"}}',
    ],
    ["is left out by an admin", "{}", before, true, '{"verified":false}'],
  ];
  for (const [what, given, old, isAdmin, stored] of accepted)
    it(what, () => assert.equal(validator.accept(given, old, isAdmin), stored));

  const rejected: readonly [given: string, old: string | undefined, errors: readonly string[]][] = [
    [
      '{"verified":true,"rank":1,"x":1}',
      undefined,
      [
        "/verified: only an administrator may set this",
        "/rank: only an administrator may set this",
      ],
    ],
    [
      '{"verified":false,"rank":2,"account":{"plan":"free"}}',
      before,
      [
        "/verified: only an administrator may change this",
        "/rank: only an administrator may change this",
        "/account/plan: only an administrator may change this",
      ],
    ],
    [
      '{"account":null}',
      before,
      ["/account: only an administrator may change this", "/account: must be an object, not null"],
    ],
    [
      '{"rank":"x","account":{"name":1}}',
      undefined,
      [
        "/rank: only an administrator may set this",
        "/rank: must be a number, not text",
        "/account/name: must be text, not a number",
      ],
    ],
  ];
  for (const [given, old, errors] of rejected)
    it(`cannot be set by others: ${given}`, () =>
      assert.deepEqual(errorsOf(validator, given, old), errors));

  it("has an error that says that the stored value stays", () =>
    assert.equal(validator.dependsOnStored, true));
});

describe("a writeOnly field", () => {
  const validator = shapeBy({
    properties: {
      password: { type: "string", writeOnly: true },
      login: { $ref: "#/$defs/login" },
      child: { $ref: "#" },
    },
    $defs: { login: { allOf: [{ properties: { pin: { writeOnly: true } } }] } },
  });
  const fields = '{"a":1.0,"password":"x","login":{"pin":1,"b":2},"child":{"password":"y"}}';

  it("is stored and not shown, at any depth", () => {
    assert.deepEqual([validator.hasHidden, validator.dependsOnStored], [true, true]);
    assert.equal(validator.accept(fields, undefined, false), fields);
    assert.equal(validator.visible(fields), '{"a":1.0,"login":{"b":2},"child":{}}');
  });

  it("costs nothing where there is none", () => {
    const plain = '{"a":"\\u0041","login":[{}],"child":{"b":1.0}}';
    assert.equal(validator.visible(plain), plain);
    assert.equal(validator.withHidden(plain, plain), plain);
  });

  it("is found by its path", () => {
    const hidden = ["password", "password.x", "login.pin", "child.child.login.pin"];
    assert.deepEqual(
      hidden.map((field) => validator.isHidden(field)),
      [true, true, true, true],
    );
    assert.deepEqual(
      ["a", "login", "login.b", "child.a"].map((field) => validator.isHidden(field)),
      [...[false, false, false, false]],
    );
  });

  const restored: readonly [given: string, whole: string][] = [
    ["{}", '{"password":"x"}'],
    [
      '{"login":{"b":3},"child":{}}',
      '{"login":{"b":3,"pin":1},"child":{"password":"y"},"password":"x"}',
    ],
    ['{"password":"new","login":{"pin":null}}', '{"password":"new","login":{"pin":null}}'],
    ['{"login":1,"child":[]}', '{"login":1,"child":[],"password":"x"}'],
  ];
  for (const [given, whole] of restored)
    it(`is added again to ${given}`, () =>
      assert.equal(validator.withHidden(given, fields), whole));
});
