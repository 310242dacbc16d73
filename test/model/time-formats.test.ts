// Every time and date that a schema accepts is one that lists compare as a time.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keyOf, letters } from "../../src/model/query/sort-key.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { validatorOf } from "../../src/model/validator.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";

const year = fc.constantFrom("0000", "0001", "2024", "2026", "9999");
const month = fc.constantFrom("00", "01", "02", "06", "12", "13");
const day = fc.constantFrom("00", "01", "28", "29", "30", "31", "32");
const hour = fc.constantFrom("00", "12", "23", "24");
const minute = fc.constantFrom("00", "59", "60");
const fraction = fc.constantFrom("", ".", ".1", ".123456789", `.${"0".repeat(30)}1`);
const zone = fc.constantFrom("Z", "z", "+00:00", "-00:00", "+23:59", "+24:00", "+0100", "");
const separator = fc.constantFrom("T", "t", " ");

const date = fc.tuple(year, month, day).map((parts) => parts.join("-"));
const second = fc.constantFrom("00", "59", "60", "61");
const time = fc
  .tuple(
    fc.tuple(hour, minute, second).map((parts) => parts.join(":")),
    fraction,
    zone,
  )
  .map((parts) => parts.join(""));
const both = fc.tuple(date, separator, time).map((parts) => parts.join(""));

function isAccepted(format: string, text: string): boolean {
  const schema = { type: "object", properties: { at: { type: "string", format } } };
  const definition = readDefinition(JSON.stringify({ schema }));
  assert.ok("preconditions" in definition);
  return (
    typeof validatorOf(definition).accept(JSON.stringify({ at: text }), undefined, false) ===
    "string"
  );
}

for (const [format, texts] of Object.entries({ "date-time": both, date })) {
  describe(format, () => {
    it("accepts only what is compared as a time", () => {
      let accepted = 0;
      const property = fc.property(texts, (text) => {
        if (!isAccepted(format, text)) return;
        accepted++;
        assert.equal(keyOf("time", text)[0], letters.time, text);
      });
      fc.assert(property, {
        numRuns: runs(3_000, 100_000),
        examples: [["2016-12-31"], ["2016-12-31T23:59:60Z"], ["2016-12-31t23:59:59.5+01:00"]],
      });
      assert.ok(accepted > 0);
    });
  });
}
