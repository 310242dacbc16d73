// Definitions: what they may contain, and every error of an invalid one.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Collection } from "../../src/model/collection.ts";
import { type Definition, definitionOf, openDefinition } from "../../src/model/definition.ts";
import type { FieldError } from "../../src/model/problem.ts";
import { indexPlanOf } from "../../src/model/query/index-plan.ts";
import { readDefinition } from "../../src/model/read-definition.ts";

const errorsOf = (text: string): readonly FieldError[] => {
  const read = readDefinition(text);
  assert.ok(!("preconditions" in read), text);
  return read;
};

const pointersOf = (text: string): readonly string[] =>
  errorsOf(text).map(({ pointer }) => pointer);

describe("a definition", () => {
  it("allows everything by default", () => {
    assert.deepEqual(readDefinition("{}"), openDefinition);
    assert.deepEqual(openDefinition, {
      access: { read: "token", create: "token", update: "token", delete: "token" },
      unique: [],
      indexed: [],
      references: {},
      searchable: [],
      cache: { maxAge: 0 },
      preconditions: "optional",
      idempotencyKey: "optional",
      signedUrls: false,
      presignedRedirects: false,
    });
  });

  const right: readonly [text: string, said: Partial<Definition>][] = [
    ['{"preconditions":"required"}', { preconditions: "required" }],
    [' { "idempotencyKey" : "required" } ', { idempotencyKey: "required" }],
    ['{"description":"Who we know","$schema":"./rules.json"}', { description: "Who we know" }],
    ['{"access":{"read":"public"}}', { access: { ...openDefinition.access, read: "public" } }],
    [
      '{"access":{"read":"owner","create":"public","update":"owner","delete":"owner"}}',
      { access: { read: "owner", create: "public", update: "owner", delete: "owner" } },
    ],
    ['{"cache":{"maxAge":60}}', { cache: { maxAge: 60 } }],
    ['{"cache":{}}', {}],
    ['{"maxBytes":1000}', { maxBytes: 1000 }],
    [
      '{"unique":["email"],"indexed":["a.b","createdAt","updatedAt"],"searchable":["name"]}',
      { unique: ["email"], indexed: ["a.b", "createdAt", "updatedAt"], searchable: ["name"] },
    ],
    [
      '{"indexed":["createdAt",["-createdAt","id"],["createdAt","-id"]]}',
      { indexed: ["createdAt", ["-createdAt", "id"], ["createdAt", "-id"]] },
    ],
    ['{"schema":{}}', { schema: {} }],
    ['{"redirect":"/thanks?a=b#c"}', { redirect: "/thanks?a=b#c" }],
    ['{"redirect":"https://example.org/thanks"}', { redirect: "https://example.org/thanks" }],
    ['{"honeypot":"website"}', { honeypot: "website" }],
    ['{"honeypot":"constructor"}', { honeypot: "constructor" }],
    ['{"rateLimit":{"perMinute":10}}', { rateLimit: { perMinute: 10 } }],
    ['{"schema":{"type":"object","x-note":1}}', { schema: { type: "object", "x-note": 1 } }],
  ];
  for (const [text, said] of right)
    it(`may be ${text}`, () =>
      assert.deepEqual(readDefinition(text), { ...openDefinition, ...said }));

  const wrong: readonly (readonly [text: string, pointers: readonly string[]])[] = [
    ["[]", [""]],
    ["null", [""]],
    ["{", [""]],
    ['{"precondition":"required"}', ["/precondition"]],
    ['{"preconditions":true}', ["/preconditions"]],
    ['{"preconditions":"Required"}', ["/preconditions"]],
    [
      '{"preconditions":null,"a/b~":1,"idempotencyKey":""}',
      ["/preconditions", "/a~1b~0", "/idempotencyKey"],
    ],
    ['{"toString":"required","constructor":"optional"}', ["/toString", "/constructor"]],
    ['{"__proto__":{"preconditions":"required"}}', ["/__proto__"]],
    ['{"preconditions":"optional","preconditions":"required"}', ["/preconditions"]],
    ['{"description":1,"$schema":2}', ["/description", "/$schema"]],
    ['{"access":"public"}', ["/access"]],
    [
      '{"access":{"read":"anyone","create":"owner","toString":"public"}}',
      ["/access/read", "/access/create", "/access/toString"],
    ],
    ['{"cache":60}', ["/cache"]],
    ['{"cache":{"maxAge":-1,"maxage":1}}', ["/cache/maxAge", "/cache/maxage"]],
    ['{"cache":{"maxAge":1.5}}', ["/cache/maxAge"]],
    ['{"maxBytes":"1 MB"}', ["/maxBytes"]],
    ['{"maxBytes":1}', ["/maxBytes"]],
    ['{"unique":"email"}', ["/unique"]],
    [
      '{"indexed":["a","a",1,"",".","a..b","id"]}',
      ["/indexed/1", "/indexed/2", "/indexed/3", "/indexed/4", "/indexed/5", "/indexed/6"],
    ],
    ['{"unique":["createdAt"],"searchable":["updatedAt"]}', ["/unique/0", "/searchable/0"]],
    ['{"searchable":[{"field":"a","weight":0.5}]}', ["/searchable/0/weight"]],
    ['{"searchable":["a",{"field":"b","weight":101}]}', ["/searchable/1/weight"]],
    ['{"searchable":[{"field":"a","weight":"3"}]}', ["/searchable/0/weight"]],
    [
      '{"searchable":[{"field":"a..b"},{"weight":2}]}',
      ["/searchable/0/field", "/searchable/1/field"],
    ],
    ['{"searchable":["a",{"field":"a","weight":2}]}', ["/searchable/1/field"]],
    [
      '{"searchable":[{"field":"a","factor":2},{"field":"id"}]}',
      ["/searchable/0/factor", "/searchable/1/field"],
    ],
    ['{"searchable":[["a"],3]}', ["/searchable/0", "/searchable/1"]],
    [`{"indexed":${JSON.stringify(Array.from({ length: 65 }, (_, n) => `f${n}`))}}`, ["/indexed"]],
    [`{"indexed":["${"a".repeat(257)}"]}`, ["/indexed/0"]],
    ['{"schema":true,"nothing":1}', ["/schema", "/nothing"]],
    ['{"redirect":1}', ["/redirect"]],
    ...[
      ...["", "thanks", "//evil.example", "/\\\\evil.example", "/a b", "/é", "/a\\r\\nX: y"],
      ...[
        "javascript:alert(1)",
        "ftp://example.org/",
        "https:example.org",
        "https://",
        "mailto:a@b",
      ],
      ...["https://me:pass@example.org/", `/${"a".repeat(2000)}`],
    ].map((redirect) => [`{"redirect":"${redirect}"}`, ["/redirect"]] as const),
    ['{"honeypot":""}', ["/honeypot"]],
    ['{"honeypot":["website"]}', ["/honeypot"]],
    [`{"honeypot":"${"a".repeat(257)}"}`, ["/honeypot"]],
    ['{"honeypot":"id"}', ["/honeypot"]],
    ['{"honeypot":"site","schema":{"properties":{"site":{}}}}', ["/honeypot"]],
    ['{"rateLimit":10}', ["/rateLimit"]],
    ['{"rateLimit":{}}', ["/rateLimit/perMinute"]],
    ['{"rateLimit":{"perMinute":0}}', ["/rateLimit/perMinute"]],
    ['{"rateLimit":{"perMinute":60001}}', ["/rateLimit/perMinute"]],
    ['{"rateLimit":{"perMinute":1,"perHour":2}}', ["/rateLimit/perHour"]],
    ['{"schema":[]}', ["/schema"]],
  ];
  for (const [text, pointers] of wrong)
    it(`must not be ${text.slice(0, 90)}`, () =>
      assert.deepEqual(pointersOf(text).toSorted(), pointers.toSorted()));

  it("gets errors that say what is allowed", () => {
    assert.match(
      errorsOf('{"acess":{}}')[0]?.detail ?? "",
      /known rules: description, singular, schema, access/,
    );
    assert.match(errorsOf('{"access":{"create":"owner"}}')[0]?.detail ?? "", /has no owner yet/);
  });

  const properties = {
    tenant: { type: "string" },
    email: { type: ["string", "null"], format: "email" },
    at: { type: "string", format: "date" },
    n: { type: "integer" },
    is: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    place: { type: "object", properties: { city: { type: "string" } } },
    secret: { type: "string", writeOnly: true },
    open: {},
    lines: {
      type: "array",
      items: {
        type: "object",
        properties: { sku: { type: "string" } },
      },
    },
  };
  const declared = (rules: object): string => JSON.stringify({ schema: { properties }, ...rules });

  it("may have indexes over several fields", () => {
    const unique = ["n", ["tenant", "email"], ["n", "place.city", "at", "is"]];
    const indexed = ["n", ["tenant", "email"], ["-tenant", "email"], ["is", "-updatedAt", "id"]];
    const { unique: uniqueRead, indexed: indexedRead } = {
      ...openDefinition,
      ...readDefinition(declared({ unique, indexed })),
    };
    assert.deepEqual([uniqueRead, indexedRead], [unique, indexed]);
  });

  it("may index the fields of elements", () => {
    const lines = {
      type: "array",
      items: { type: "object", properties: { sku: { type: "string" }, tags: { type: "array" } } },
    };
    const text = JSON.stringify({
      schema: { properties: { lines } },
      indexed: ["lines[].sku", "lines[].tags"],
      unique: ["lines[].sku"],
      searchable: ["lines[].sku"],
    });
    assert.ok("access" in readDefinition(text));
    assert.deepEqual(
      indexPlanOf(text).indexes.map(({ fields: [first] }) => [first?.field, first?.kind]),
      [
        ["lines[].sku", "text"],
        ["lines[].tags", "any"],
      ],
    );
    assert.ok("access" in readDefinition('{"indexed":["lines[].sku"]}'));
  });

  const wrongIndexes: readonly (readonly [rules: object, pointer: string, detail: RegExp])[] = [
    [{ indexed: [[]] }, "/indexed/0", /at least 2/],
    [{ indexed: [["tenant"]] }, "/indexed/0", /at least 2/],
    [{ indexed: [["tenant", "n", "at", "is", "id"]] }, "/indexed/0", /at most 4/],
    [{ indexed: [5] }, "/indexed/0", /text or a list/],
    [{ indexed: [["tenant", 5]] }, "/indexed/0/1", /name of a field/],
    [{ indexed: [["tenant", "-"]] }, "/indexed/0/1", /after the -/],
    [{ indexed: [["tenant", "a..b"]] }, "/indexed/0/1", /single dots/],
    [{ indexed: [["tenant", "-tenant"]] }, "/indexed/0/1", /this field is listed twice/],
    [{ indexed: ["n", ["n", "is"], ["n", "is"]] }, "/indexed/2", /this index is listed twice/],
    [{ indexed: [["tennant", "n"]] }, "/indexed/0/0", /no field tennant; known fields: tenant/],
    [{ indexed: [["tags", "n"]] }, "/indexed/0/0", /as a string, number, integer or boolean/],
    [{ indexed: [["n", "open"]] }, "/indexed/0/1", /declare open/],
    [{ indexed: [["n", "tags[]"]] }, "/indexed/0/1", /index it on its own/],
    [{ indexed: [["n", "secret"]] }, "/indexed/0/1", /writeOnly/],
    [{ indexed: [["n", "place"]] }, "/indexed/0/1", /name a field of the object/],
    [{ indexed: [["n", "_etag"]] }, "/indexed/0/1", /reserved/],
    [
      { indexed: ["tags.x"] },
      "/indexed/0",
      /tags is not an object in the schema, so it has no fields$/,
    ],
    [{ indexed: ["tags[].x"] }, "/indexed/0", /tags\[\] is not an object/],
    [{ indexed: ["tenant[]"] }, "/indexed/0", /tenant is not an array/],
    [{ indexed: ["lines[]"] }, "/indexed/0", /name a field of the object/],
    [{ indexed: ["lines.sku"] }, "/indexed/0", /lines\[\] stands for its elements/],
    [{ indexed: ["lines[].skew"] }, "/indexed/0", /no field skew in lines\[\]; known .* sku/],
    [{ indexed: ["_etag[].x"] }, "/indexed/0", /reserved/],
    [{ unique: [["tenant", "-n"]] }, "/unique/0/1", /write n/],
    [{ unique: [["tenant", "createdAt"]] }, "/unique/0/1", /the server manages createdAt/],
    [{ searchable: [["tenant", "email"]] }, "/searchable/0", /must be/],
  ];
  for (const [rules, pointer, detail] of wrongIndexes)
    it(`must not have ${JSON.stringify(rules)}`, () => {
      const [error, ...more] = errorsOf(declared(rules));
      assert.deepEqual(more, []);
      assert.equal(error?.pointer, pointer);
      assert.match(error?.detail ?? "", detail);
    });

  it("limits the names of an index together, and keeps them apart from a field's name", () => {
    const long = "é".repeat(125);
    const open = (rules: object, name: string) =>
      errorsOf(
        JSON.stringify({ schema: { properties: { [name]: { type: "string" } } }, ...rules }),
      );
    assert.match(open({ indexed: [[long, "id"]] }, long)[0]?.detail ?? "", /256 bytes/);
    const name = '["id","updatedAt"]';
    const errors = open({ unique: [name], indexed: [["id", "updatedAt"]] }, name);
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ["/indexed/0"],
    );
  });

  it("has one index for lists that have the same entries", () => {
    const namesOf = (...indexed: readonly (string | readonly string[])[]) =>
      indexPlanOf(declared({ indexed })).indexes.map(({ name }) => name);
    assert.deepEqual(namesOf("n", ["n", "-createdAt"], ["-n", "createdAt"]), ["n"]);
    assert.deepEqual(namesOf(["n", "-at", "createdAt"], ["n", "-at"]), ['["n","-at"]']);
    assert.deepEqual(namesOf(["createdAt", "n"], ["n", "createdAt", "at"]), [
      '["createdAt","n"]',
      '["n","createdAt","at"]',
    ]);
  });

  it("needs a schema for an index over fields of its own", () => {
    assert.deepEqual(pointersOf('{"indexed":[["a","createdAt"]]}'), ["/indexed/0/0"]);
  });

  it("is found for a collection, and is the default for one without", () => {
    const collection = (definition: string): Collection => ({
      name: "people",
      revision: 1,
      total: 0,
      bytes: 0,
      version: 0,
      definition,
      createdAt: 0,
      updatedAt: 0,
    });
    assert.deepEqual(definitionOf(collection("{}")), openDefinition);
    const strict = collection('{"preconditions":"required","access":{"read":"public"}}');
    assert.equal(definitionOf(strict).preconditions, "required");
    assert.deepEqual(definitionOf(strict).access, { ...openDefinition.access, read: "public" });
    assert.equal(definitionOf(strict), definitionOf(strict));
  });
});

describe("field names in a definition", () => {
  const schema = {
    properties: {
      email: { type: "string" },
      tags: { type: "array", items: { type: "string" } },
      address: { $ref: "#/$defs/address" },
      extra: { type: ["object", "null"] },
      anything: {},
      secret: { type: "object", writeOnly: true },
    },
    allOf: [{ properties: { name: { type: "string" } } }],
    $defs: { address: { type: "object", properties: { city: { type: "string" } } } },
  };
  const cases: readonly [rule: string, field: string, words: RegExp | undefined][] = [
    ["unique", "email", undefined],
    ["indexed", "tags", undefined],
    ["indexed", "name", undefined],
    ["indexed", "address.city", undefined],
    ["indexed", "extra.whatever.deep", undefined],
    ["indexed", "anything.deep", undefined],
    ["searchable", "address", undefined],
    ["indexed", "emial", /no field emial; known fields: email, tags, address/],
    ["searchable", "address.town", /no field town in address; known fields: city/],
    ["indexed", "address", /objects.*name a field of the object/],
    ["unique", "extra", /object/],
    ["indexed", "tags.0", /tags is not an object/],
    ["indexed", "email.domain", /email is not an object/],
    ["indexed", "secret.key", /writeOnly/],
    ["searchable", "secret", /writeOnly/],
    ["indexed", "toString", /no field toString/],
  ];
  for (const [rule, field, words] of cases)
    it(`${rule}: ${field} is ${words === undefined ? "valid" : "invalid"}`, () => {
      const text = JSON.stringify({ schema, [rule]: [field] });
      if (words === undefined) assert.ok("preconditions" in readDefinition(text));
      else assert.match(errorsOf(text)[0]?.detail ?? "", words);
    });
});

describe("the schema of a definition", () => {
  const patterns = { "^(a+)+$": { type: "string" }, "[": {} };
  const chain = (length: number) =>
    Object.fromEntries(
      Array.from({ length }, (_, n) => [
        `d${n}`,
        n + 1 < length ? { $ref: `#/$defs/d${n + 1}` } : {},
      ]),
    );
  const doubling = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` };
      return [`d${n}`, n < 19 ? { allOf: [next, next] } : {}];
    }),
  );
  const doublingInside = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => {
      const next = { properties: { x: { $ref: `#/$defs/d${n + 1}` } } };
      return [`d${n}`, n < 19 ? { allOf: [next, next] } : {}];
    }),
  );
  const wrong: readonly [what: string, schema: object, errors: Readonly<Record<string, RegExp>>][] =
    [
      ["of another type", { type: "array" }, { "/type": /"object"/ }],
      [
        "with a type that is none",
        { properties: { a: { type: "strnig" } } },
        { "/properties/a/type": /"string"/ },
      ],
      [
        "with a keyword of the wrong type",
        { properties: [], required: "a" },
        {
          "/properties": /must be an object, not a list/,
          "/required": /must be a list, not text/,
        },
      ],
      [
        "with a misspelt keyword",
        { properties: { a: { minLenght: 1 } } },
        { "/properties/a/minLenght": /no such keyword/ },
      ],
      [
        "of an older draft",
        { definitions: {}, properties: { a: { nullable: true } } },
        {
          "/definitions": /\$defs/,
          "/properties/a/nullable": /"null"/,
        },
      ],
      [
        "of another dialect",
        { $schema: "http://json-schema.org/draft-07/schema#" },
        { "/$schema": /2020-12/ },
      ],
      [
        "with code for a number",
        { properties: { a: { minimum: ["(globalThis.PWN=1)"] } } },
        {
          "/properties/a/minimum": /must be a number, not a list/,
        },
      ],
      [
        "with a member of the validator library",
        { properties: { a: { "~refine": [{}], "~guard": {} } } },
        {
          "/properties/a/~0refine": /no such keyword/,
          "/properties/a/~0guard": /no such keyword/,
        },
      ],
      ["that refers to nothing", { $ref: "#/$defs/a" }, { "/$ref": /no schema at this location/ }],
      [
        "that refers to no schema",
        { enum: [{}], properties: { a: { $ref: "#/enum/0" } } },
        {
          "/properties/a/$ref": /no schema/,
        },
      ],
      [
        "that refers elsewhere",
        { properties: { a: { $ref: "https://example.com/a" }, b: { $ref: "b.json" } } },
        {
          "/properties/a/$ref": /in this document/,
          "/properties/b/$ref": /in this document/,
        },
      ],
      [
        "with a broken reference",
        { properties: { a: { $ref: "#/%zz" } } },
        { "/properties/a/$ref": /no schema/ },
      ],
      [
        "with an inner id",
        { properties: { a: { $id: "https://example.com/a" } } },
        { "/properties/a/$id": /outermost/ },
      ],
      ["that is itself", { $ref: "#" }, { "": /back to itself/ }],
      [
        "that goes round",
        {
          allOf: [{ $ref: "#/$defs/a" }],
          $defs: { a: { not: { $ref: "#/$defs/b" } }, b: { $ref: "#/$defs/a" } },
        },
        {
          "/$defs/a": /back to itself/,
        },
      ],
      ["with a long chain", { $ref: "#/$defs/d0", $defs: chain(40) }, { "/$defs/d7": /too many/ }],
      ["that doubles", { $ref: "#/$defs/d0", $defs: doubling }, { "/$defs/d11": /too many/ }],
      [
        "that doubles with every level",
        { $ref: "#/$defs/d0", $defs: doublingInside },
        { "/$defs/d11/allOf/0/properties/x": /more than 100 times/ },
      ],
      [
        "with more patterns of names than one name may be compared with",
        {
          patternProperties: Object.fromEntries(
            Array.from({ length: 101 }, (_, n) => [`^x${n}$`, { type: "integer" }]),
          ),
        },
        { "": /more than 100 times: every member of patternProperties/ },
      ],
      [
        "that comes back twice",
        {
          properties: { child: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } },
        },
        { "/properties/child": /again and again/ },
      ],
      [
        "whose items come back twice",
        { properties: { list: { items: { $ref: "#" }, contains: { $ref: "#" } } } },
        {
          "/properties/list": /again and again/,
        },
      ],
      [
        "with a format that is none",
        { properties: { a: { format: "emial" } } },
        { "/properties/a/format": /known formats: date-time, .*email/ },
      ],
      [
        "with a pattern that is none",
        { properties: { a: { pattern: "[" } } },
        { "/properties/a/pattern": /regular expression/ },
      ],
      [
        "with an unsafe pattern",
        { properties: { a: { pattern: "^(a+)+$", maxLength: 10 } }, patternProperties: patterns },
        {
          "/properties/a/pattern": /unsafe/,
          "/patternProperties/^(a+)+$": /unsafe/,
          "/patternProperties/[": /regular expression/,
        },
      ],
      [
        "with a slow pattern",
        { properties: { a: { pattern: "a.*b", maxLength: 257 } } },
        { "/properties/a/pattern": /maxLength of at most 256/ },
      ],
      [
        "with a long pattern",
        { properties: { a: { pattern: "a".repeat(1001) } } },
        { "/properties/a/pattern": /1000/ },
      ],
      [
        "with the server's members",
        {
          properties: { id: {} },
          allOf: [{ properties: { createdAt: {} } }],
          required: ["updatedAt"],
        },
        {
          "/properties/id": /server sets id/,
          "/properties/createdAt": /server sets createdAt/,
          "/required": /server sets updatedAt/,
        },
      ],
      [
        "with a default that does not fit",
        {
          properties: { a: { type: "string", default: 1 }, b: { $ref: "#/$defs/n", default: -1 } },
          $defs: { n: { minimum: 0 } },
        },
        {
          "/properties/a/default": /must be text, not a number/,
          "/properties/b/default": /must be at least 0/,
        },
      ],
      [
        "with flags where they do not count",
        {
          writeOnly: true,
          properties: {
            list: { items: { properties: { a: { writeOnly: true } } } },
            pick: { anyOf: [{ readOnly: true }] },
          },
          additionalProperties: { $ref: "#/$defs/secret" },
          $defs: { secret: { writeOnly: true } },
        },
        {
          "/writeOnly": /works only on a field/,
          "/properties/list/items/properties/a/writeOnly": /works only on a field/,
          "/properties/pick/anyOf/0/readOnly": /works only on a field/,
          "/$defs/secret/writeOnly": /works only on a field/,
        },
      ],
      [
        "with too many schemas",
        { properties: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}`, {}])) },
        {
          "": /more than 1000 schemas/,
        },
      ],
    ];
  for (const [what, schema, expected] of wrong)
    it(`is invalid ${what}`, () => {
      const errors = errorsOf(JSON.stringify({ schema }));
      const first = new Map(
        errors.map(({ pointer, detail }) => [pointer, detail]).reverse() as [string, string][],
      );
      assert.deepEqual(
        [...first.keys()].sort(),
        Object.keys(expected)
          .map((each) => `/schema${each}`)
          .sort(),
      );
      for (const [pointer, words] of Object.entries(expected))
        assert.match(first.get(`/schema${pointer}`) ?? "", words);
      assert.equal(Reflect.get(globalThis, "PWN"), undefined);
    });

  const right: readonly [what: string, schema: object][] = [
    [
      "an id and a dialect",
      {
        $id: "https://example.com/people",
        $schema: "https://json-schema.org/draft/2020-12/schema",
      },
    ],
    [
      "an anchor",
      { properties: { a: { $ref: "#text" } }, $defs: { t: { $anchor: "text", type: "string" } } },
    ],
    [
      "a reference with escapes",
      { properties: { a: { $ref: "#/$defs/a~1b%25" } }, $defs: { "a/b%": {} } },
    ],
    [
      "a tree",
      { properties: { left: { $ref: "#" }, right: { $ref: "#" }, all: { items: { $ref: "#" } } } },
    ],
    [
      "a secret in each of a tree",
      { properties: { pin: { writeOnly: true }, child: { $ref: "#" } } },
    ],
    ["a slow pattern for short texts", { properties: { a: { pattern: "a.*b", maxLength: 256 } } }],
    [
      "an inner id as a field",
      { properties: { address: { properties: { id: {}, $id: {}, $ref: {} } } } },
    ],
    [
      "names of every object",
      { properties: { constructor: {}, toString: { type: "string" } }, required: ["valueOf"] },
    ],
    [
      "every keyword",
      {
        title: "t",
        description: "d",
        $comment: "c",
        type: "object",
        minProperties: 0,
        maxProperties: 9,
        properties: {
          a: {
            type: ["string", "null"],
            examples: ["x"],
            deprecated: true,
            contentMediaType: "text/plain",
          },
        },
        patternProperties: { "^x-": true },
        additionalProperties: false,
        propertyNames: { maxLength: 9 },
        dependentRequired: { a: ["b"] },
        dependentSchemas: { a: true },
        if: {},
        // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
        then: {},
        else: {},
        not: false,
      },
    ],
  ];
  for (const [what, schema] of right)
    it(`may have ${what}`, () =>
      assert.ok(
        "preconditions" in readDefinition(JSON.stringify({ schema })),
        JSON.stringify(readDefinition(JSON.stringify({ schema }))),
      ));
});
