// Former states: kept where rules decide who reads what, and read with a feed.

import assert from "node:assert/strict";
import { readFormerState } from "../../../src/model/access/former-state.ts";
import type { FormerRange } from "../../../src/model/feed.ts";
import type { Outcome, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { all, create, define, feedSince, put, remove, revisionOf } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

const ruled = JSON.stringify({
  access: { read: [{ name: "team", to: "token", where: { team: "$me" }, fields: ["title"] }] },
});

/** A state of a resource, and the revisions of the changes that made and ended it. */
interface Interval {
  readonly id: string;
  readonly team: string;
  readonly since: number;
  until: number;
}

class History {
  readonly intervals: Interval[] = [];

  add(id: string, team: string | undefined, outcome: Outcome | undefined): void {
    if (outcome?.kind === "missing") return;
    const revision = revisionOf(outcome);
    const current = this.intervals.findLast((each) => each.id === id);
    if (current?.until === Number.POSITIVE_INFINITY) current.until = revision;
    if (team !== undefined)
      this.intervals.push({ id, team, since: revision, until: Number.POSITIVE_INFINITY });
  }

  /** The states in a range, in the order of their ends, of resources that changed after it. */
  within({ after, upTo }: FormerRange): readonly string[] {
    return this.intervals
      .filter(({ since, until }) => since <= upTo && until > after && Number.isFinite(until))
      .filter(({ id }) => this.intervals.some((each) => each.id === id && isAfter(each, upTo)))
      .sort((one, other) => one.until - other.until)
      .map(({ id, team }) => `${id} ${team}`);
  }
}

const isAfter = ({ since, until }: Interval, revision: number): boolean =>
  since > revision || (until > revision && Number.isFinite(until));

async function statesIn(store: Store, former: FormerRange, epoch: string) {
  const position = { epoch, revision: former.upTo, time: 0 };
  const feed = await store.since("things", position, { limit: 1_000, former });
  assert.ok(typeof feed === "object");
  return feed.formerStates?.map(({ id, state }) => {
    const { resource } = readFormerState(id, state);
    return `${id} ${JSON.parse(resource.fields).team}`;
  });
}

const fieldsOf = (team: string): string => `{"team":"${team}","title":"not kept"}`;

export function formerStates(contractTest: ContractTest): void {
  contractTest("are those that a range of revisions has seen", async ({ store }) => {
    const random = randomNumbers(newSeed("former states"));
    const below = (count: number) => Math.floor(random() * count);
    const pick = (texts: readonly string[]) => texts[below(texts.length)] ?? "";
    await store.commit([create(), define(ruled)]);
    const history = new History();
    const ids = ["a", "b", "c", "d"];
    for (let commit = 0; commit < runs(10, 300); commit++) {
      const id = pick(ids);
      const team = random() < 0.25 ? undefined : pick(["red", "blue", "green"]);
      const change = team === undefined ? remove(id) : put(id, { fields: fieldsOf(team) });
      const [outcome] = await store.commit([change]);
      history.add(id, team, outcome);
    }
    const { epoch = "", collection } = (await feedSince(store, 0, 1)) ?? {};
    const last = collection?.revision ?? 0;
    for (let check = 0; check < runs(20, 400); check++) {
      const [upTo, after] = [1 + below(last), 1 + below(last)];
      const former = { after: random() < 0.5 ? upTo : after, upTo };
      assert.deepEqual(
        await statesIn(store, former, epoch),
        history.within(former),
        JSON.stringify(former),
      );
    }
  });

  contractTest("have what rules decide by, and hashes of what they show", async ({ store }) => {
    const both = JSON.stringify({
      access: {
        read: [
          { name: "some", to: "everyone", where: { "a.b": 1 }, fields: ["title"] },
          { name: "all", to: "owner", where: { "list[].x": 2, createdAt: { gt: "2020-01-01" } } },
        ],
      },
      boundary: { tenant: "t" },
    });
    const fields = '{"tenant":"t","title":"x","a":{"b":1e400,"c":2},"list":[{"x":1,"y":2}]}';
    const [, created] = await store.commit([
      define(both),
      { ...put("a", { fields }), owner: "ann" },
    ]);
    const revision = revisionOf(created);
    await store.commit([put("a", { fields: '{"title":"x"}', at: 50 })]);
    await store.commit([remove("a")]);
    const { epoch = "" } = (await feedSince(store, 0, 1)) ?? {};
    const range = { limit: 9, former: { after: revision, upTo: revision + 1 } };
    const feed = await store.since("things", { epoch, revision, time: 0 }, range);
    assert.ok(typeof feed === "object");
    const [first, second, ...more] = feed.formerStates ?? [];
    assert.ok(first && second);
    assert.deepEqual(more, []);
    assert.deepEqual([first.id, first.endedAt, second.endedAt], ["a", 50, 50]);
    const { shown, ...state } = JSON.parse(first.state);
    assert.deepEqual(state, {
      fields: '{"tenant":"t","a":{"b":1e400},"list":[{"x":1}]}',
      owner: "ann",
      createdAt: 10,
    });
    assert.match(shown[0], /^[\w-]{16}$/);
    assert.equal(shown[1], null);
    assert.deepEqual(JSON.parse(second.state), {
      ...{ fields: "{}", owner: "ann", createdAt: 10, shown },
    });
  });

  contractTest("are not kept where no rule decides who reads, or undone", async ({ store }) => {
    await store.commit([define('{"access":{"read":"owner"}}'), put("a"), put("a"), remove("a")]);
    await store.commit([define(ruled), put("b"), put("c")]);
    await store.commit([all([put("b"), put("c"), remove("nothing")])]);
    const { epoch = "" } = (await feedSince(store, 0, 1)) ?? {};
    const range = { limit: 9, former: { after: 0, upTo: 1_000 } };
    const feed = await store.since("things", { epoch, revision: 1, time: 0 }, range);
    assert.ok(typeof feed === "object");
    assert.deepEqual(feed.formerStates, []);
  });
}
