// The operators of filters are the same in the client, and the documentation lists them.
// @runtimes only bun

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { operators as ofClient } from "../client/operators.ts";
import { operandOf, operators } from "../src/model/query/operators.ts";

/** The compiler compares both tables. */
ofClient satisfies typeof operandOf;
operandOf satisfies typeof ofClient;

const page = (name: string) => readFileSync(new URL(`../docs/${name}.md`, import.meta.url), "utf8");

it("operators are listed in docs/lists.md and docs/react-admin.md", () => {
  const rows = page("lists")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const named = rows.map((row) => row.split(" | ")[0] ?? "").join();
  const ofReactAdmin = page("react-admin");
  for (const operator of operators) {
    assert.ok(named.includes(`\`${operator}\``), operator);
    assert.ok(ofReactAdmin.includes(`\`_${operator}\``), operator);
  }
});
