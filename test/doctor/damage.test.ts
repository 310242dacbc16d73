// Every kind of damage is found and named, and what can be computed again is right after a repair.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Finding } from "../../src/doctor/finding.ts";
import type { Config } from "../../src/server/config.ts";
import { examine, repair } from "../../src/server/doctor.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { describeApp, fill, noTrack, Place, type Secrets, withApp } from "../backup/stores.ts";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { isShort, storesHere } from "../short-run.ts";
import { define, put } from "../store/contract/change-helpers.ts";
import { Chooser, type Damage, damages, withSql } from "./damage.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const look = (config: Config) => examine(config, { isQuick: false, track: noTrack });

const problemsIn = (findings: readonly Finding[]) =>
  findings.filter(({ state, check, message }) => {
    const isSetting = check === "storage" && message.includes(" = off");
    return state !== "ok" && !isSetting;
  });

function assertFound(findings: readonly Finding[], damage: Damage): void {
  const problems = problemsIn(findings);
  const { check, collection, resource } = damage;
  const isSame = (finding: Finding) =>
    finding.check === check &&
    (collection === undefined || finding.collection === collection) &&
    (resource === undefined || finding.resource === resource);
  assert.ok(problems.some(isSame), JSON.stringify({ damage, problems }, undefined, 1));
  const isOther = (finding: Finding) =>
    finding.collection !== undefined &&
    collection !== undefined &&
    finding.collection !== collection;
  assert.deepEqual(problems.filter(isOther), [], damage.about);
}

for (const engine of storesHere("sqlite", ["sqlite", "postgres"] as const))
  describe(`a damaged store on ${engine}`, () => {
    it("is found, and repaired where that is possible", () =>
      Place.run(server, async (place) => {
        const choose = new Chooser(randomNumbers(newSeed(`damages on ${engine}`)));
        const config = await place.config(engine);
        const secrets = await withApp(config, fill);
        assert.deepEqual(problemsIn((await look(config)).findings), []);
        const answers = await answersOf(await place.copy(config), secrets);
        const isFirst = engine === "sqlite";
        // A short run tries every second one on each engine.
        const kinds = Object.entries(damages).filter(
          (_, n) => !isShort || (n % 2 === 0) === isFirst,
        );
        for (let n = 0; n < runs(1, 20); n++)
          for (const [name, damage] of kinds) {
            const copy = await place.copy(config);
            const done = await withSql(copy, (run) => damage({ config: copy, run, choose }));
            const before = await look(copy);
            assertFound(before.findings, done);
            await repair(copy, before, noTrack);
            const { findings } = await look(copy);
            if (!done.isRepairable) assertFound(findings, done);
            else {
              assert.deepEqual(problemsIn(findings), [], `${name}: ${done.about}`);
              assert.deepEqual(await answersOf(copy, secrets), answers, name);
            }
          }
      }));
  });

/** Lists have other tags after a repair, so that no cache keeps a wrong one. */
async function answersOf(config: Config, secrets: Secrets): Promise<unknown> {
  const seen = await withApp(config, (app) => describeApp(app, secrets), secrets.admin);
  return (seen as readonly (readonly unknown[])[]).map(([target, status, , body]) => [
    ...[target, status],
    String(body).replace(/"(revision|version)":\d+/g, ""),
  ]);
}

describe("a store with more damage than is named", () => {
  it("is repaired at once", () =>
    Place.run(server, async (place) => {
      const config = await place.config("sqlite");
      const store = await openSqlite({ path: config.data });
      const names = Array.from({ length: 15 }, (_, n) => `things-${n}`);
      const fields = '{"n":1}';
      for (const name of names)
        await store.commit([
          define('{"indexed":["n"]}', name),
          ...["a", "b"].map((id) => put(id, { collection: name, fields })),
        ]);
      await store.close();
      await withSql(config, (run) => run("DELETE FROM entries"));
      const found = await look(config);
      assert.equal(found.findings.at(-1)?.state, "ok");
      assert.ok(found.findings.some(({ message }) => message === "And 20 more."));
      assert.equal((await repair(config, found, noTrack)).length, names.length);
      assert.deepEqual(problemsIn((await look(config)).findings), []);
    }));
});
