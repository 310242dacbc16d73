// Drafts: the client's text, compact, without the server's members.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Draft, readDraft } from "../../src/model/draft.ts";
import { serverMembers } from "../../src/model/resource.ts";
import fc from "../fast-check.ts";
import { anyObject, anySpacing, errorsOf, write } from "./random-json.ts";

const encoder = new TextEncoder();

function draftOf(text: string): Draft {
  const draft = readDraft(encoder.encode(text));
  assert.ok("fields" in draft, JSON.stringify(draft));
  return draft;
}

describe("the fields of a draft", () => {
  const drafts: readonly [what: string, text: string, fields: string][] = [
    ["nothing", "{}", "{}"],
    ["nothing but whitespace", " { \n } ", "{}"],
    ["what needs no change", '{"b":1,"a":[2]}', '{"b":1,"a":[2]}'],
    ["whitespace around it", '\n{"a":1}\n', '{"a":1}'],
    [
      "whitespace inside",
      '{ "a" : [ 1 , { "b" : "x y" } ] , "c" : { } }',
      '{"a":[1,{"b":"x y"}],"c":{}}',
    ],
    ["numbers as they are written", '{"a": 1.0, "b": -0, "c": 1E2}', '{"a":1.0,"b":-0,"c":1E2}'],
    [
      "escapes as they are written",
      '{"\\u0061": "\\/\\u00e4ä\\n"}',
      '{"\\u0061":"\\/\\u00e4ä\\n"}',
    ],
    ["names that look like indexes, in order", '{"10":1, "9":2, "a":3}', '{"10":1,"9":2,"a":3}'],
    ["whitespace and brackets in strings", '{ "a ": " {\\" : , " }', '{"a ":" {\\" : , "}'],
    ["a byte order mark", '\ufeff{"a":1}', '{"a":1}'],
    ["the server's member first", '{"id":"x","a":1}', '{"a":1}'],
    ["the server's member last", '{"a":1,"updatedAt":2}', '{"a":1}'],
    ["the server's member between", '{"a":1,"createdAt":{"x":[]},"b":2}', '{"a":1,"b":2}'],
    ["the server's members alone", '{"id":"x","createdAt":1,"updatedAt":2}', "{}"],
    [
      "the server's members among whitespace",
      '{ "id" : "x" , "a" : [ 1 , 2 ] , "createdAt" : [ 1 , 2 ] , "b" : 3 , "updatedAt" : 4 }',
      '{"a":[1,2],"b":3}',
    ],
    ["the server's member, escaped", '{"\\u0069d":"x","a":1}', '{"a":1}'],
    ["the same names further in", '{"a":{"id":1,"createdAt":2}}', '{"a":{"id":1,"createdAt":2}}'],
    ["names that only resemble them", '{"ID":1,"Id":2,"_id":3}', '{"ID":1,"Id":2,"_id":3}'],
  ];
  for (const [what, text, fields] of drafts)
    it(what, () => assert.equal(draftOf(text).fields, fields));

  it("are the document, however it is written, without whitespace and the server's members", () => {
    fc.assert(
      fc.property(anyObject, anySpacing, (object, spacing) => {
        fc.pre(errorsOf(object).size === 0);
        const members = object.members.filter(({ name }) => !serverMembers.includes(name.value));
        const { fields } = draftOf(write(object, spacing));
        assert.equal(fields, write({ ...object, members }));
      }),
      { numRuns: 500 },
    );
  });

  it("have the same meaning as the client's text", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.nat({ max: 4 }),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          fc.pre(!text.includes('"__proto__":'));
          const expected = Object.entries(JSON.parse(text)).filter(
            ([name]) => !serverMembers.includes(name),
          );
          assert.deepEqual(Object.entries(JSON.parse(draftOf(text).fields)), expected);
        },
      ),
    );
  });
});

describe("the id of a draft", () => {
  const ids: readonly [text: string, id: Draft["id"]][] = [
    ["{}", undefined],
    ['{"a":{"id":"x"}}', undefined],
    ['{"id":"x"}', "x"],
    ['{"id":""}', ""],
    ['{"a":1,"\\u0069d" : "\\u0078/\\n"}', "x/\n"],
    ['{"id":7}', null],
    ['{"id":null}', null],
    ['{"id":["x"]}', null],
  ];
  for (const [text, id] of ids) it(text, () => assert.equal(draftOf(text).id, id));
});

describe("an invalid draft", () => {
  it("reports every error of the text", () => {
    const errors = readDraft(encoder.encode('{"id":1e400,"a":{"b":1,"b":2}}'));
    assert.ok(!("fields" in errors));
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ["/id", "/a/b"],
    );
  });

  it("is not UTF-8", () => {
    assert.deepEqual(readDraft(new Uint8Array([0x7b, 0xff, 0x7d])), [
      { pointer: "", detail: "not valid UTF-8: the byte at offset 1 is not part of a character" },
    ]);
  });
});
