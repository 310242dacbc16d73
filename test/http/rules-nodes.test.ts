// Rights that change on one of two nodes while requests are sent to both: each answer fits rights that there were.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import type { Answer } from "./expect.ts";
import { type Caller, type Ruled, RulesModel, type Stored } from "./rules-model.ts";
import { pick } from "./rules-states.ts";

/** How long another node may use a token, a document or a definition that has been replaced. */
const lagMs = 1_000;

interface Version<T> {
  readonly value: T;
  readonly begun: number;
  done: number;
}

/** Something that one client changes, so that it knows what it was when. */
class Timeline<T> {
  readonly #versions: Version<T>[];

  constructor(first: T) {
    this.#versions = [{ value: first, begun: -Infinity, done: -Infinity }];
  }

  async change(value: T, send: () => Promise<Answer>): Promise<void> {
    const version = { value, begun: performance.now(), done: Infinity };
    this.#versions.push(version);
    const { status, body } = await send();
    assert.ok(status < 300, body);
    version.done = performance.now();
  }

  /** What it can have been at a moment of this time. */
  during(from: number, to: number): readonly T[] {
    const isEnded = (index: number) => (this.#versions[index + 1]?.done ?? Infinity) < from;
    return this.#versions
      .filter(({ begun }, index) => begun <= to && !isEnded(index))
      .map(({ value }) => value);
  }
}

const team = { team: { in: "$my.teams" } };
const lead = { "project.lead": "$me" };
const grant = (to: unknown, more: object = {}) => ({ name: "one", to, ...more });

/** The rules of posts, which take turns. Owners are stored under each. */
const allRules: readonly Ruled[] = [
  {
    access: {
      read: [grant("token", { where: team }), { ...grant("owner"), name: "mine" }],
      create: [grant("token", { check: team })],
      update: [grant("token", { where: lead })],
    },
  },
  {
    access: {
      read: [grant("token", { where: lead }), grant({ role: "writer" }, { name: "all" })],
      create: [grant({ role: "writer" }, { check: team })],
      update: [grant("owner", { check: team })],
    },
  },
  {
    access: {
      read: "token",
      create: [grant("token", { check: lead })],
      update: [grant("token", { where: team, check: team }), grant("owner", { name: "mine" })],
    },
  },
] as readonly Ruled[];

const references = { project: { collection: "projects" } };

/** The access document: what the role of the caller gives, and which memberships count. */
interface Document {
  readonly scopes: readonly string[];
  readonly isActive: boolean;
}

const bodyOf = ({ scopes, isActive }: Document) => ({
  roles: { writer: scopes },
  sets: {
    teams: {
      ...{ collection: "memberships", field: "team" },
      where: { user: "$me", ...(isActive && { active: true }) },
    },
  },
});

/** The teams of the caller, and whether the membership is active. */
type Teams = Readonly<Record<string, boolean>>;

const teams = ["north", "south", "west"];
const scopes = ["posts:read", "projects:read"];

class World {
  readonly #admin: Client;
  readonly #random: () => number;
  readonly rules = new Timeline(0);
  readonly document = new Timeline<Document>({ scopes: [], isActive: false });
  readonly teams = new Timeline<Teams>({});
  readonly lead = new Timeline("eve");
  /** Of the posts of each lane. */
  readonly owners: readonly Timeline<string>[];
  #teams: Teams = {};

  constructor(admin: Client, lanes: number, random: () => number) {
    this.#admin = admin;
    this.#random = random;
    this.owners = Array.from({ length: lanes }, () => new Timeline("eve"));
  }

  /** Changes one right, on the node of the administrator. */
  async change(): Promise<void> {
    const random = this.#random;
    const kind = random();
    if (kind < 0.4) await this.#changeTeams(pick(random, teams));
    else if (kind < 0.6) {
      const user = pick(random, ["ann", "eve"]);
      await this.lead.change(user, () => this.#admin.patch("/projects/one", { lead: user }));
    } else if (kind < 0.75) {
      const next = { scopes: pick(random, [[], ["posts:*"]]), isActive: random() < 0.5 };
      await this.document.change(next, () => this.#admin.put("/-/access", bodyOf(next)));
    } else if (kind < 0.85) {
      const next = Math.floor(random() * allRules.length);
      const definition = { ...allRules[next], references };
      await this.rules.change(next, () => this.#admin.put("/-/collections/posts", definition));
    } else {
      const lane = Math.floor(random() * this.owners.length);
      const _owner = pick(random, ["ann", "eve"]);
      await this.owners[lane]?.change(_owner, () =>
        this.#admin.patch(`/posts/p${lane}`, { _owner }),
      );
    }
  }

  #changeTeams(name: string): Promise<void> {
    const { [name]: before, ...others } = this.#teams;
    const active = this.#random() < 0.5;
    const isEnd = before !== undefined && this.#random() < 0.5;
    this.#teams = isEnd ? others : { ...others, [name]: active };
    const path = `/memberships/${name}`;
    return this.teams.change(this.#teams, () =>
      isEnd ? this.#admin.remove(path) : this.#admin.put(path, { user: "ann", team: name, active }),
    );
  }

  /** What may be decided from `from` to `to`, where documents and definitions can be old. */
  *decisions<T>(
    lane: number,
    [from, to]: readonly [number, number],
    isFresh: boolean,
    decide: (model: RulesModel, caller: Caller, owner: string) => T,
  ): Generator<T> {
    const oldest = isFresh ? from : from - lagMs;
    for (const index of this.rules.during(oldest, to))
      for (const document of this.document.during(oldest, to))
        for (const all of this.teams.during(from, to))
          for (const who of this.lead.during(from, to))
            for (const owner of this.owners[lane]?.during(from, to) ?? []) {
              const targets = () => ({ project: { lead: who } });
              const rules = allRules[index];
              assert.ok(rules !== undefined);
              const model = new RulesModel("posts", rules, ["project"], targets);
              const counted = Object.keys(all).filter((name) => !document.isActive || all[name]);
              const caller = {
                ...{ subject: "ann", roles: ["writer"], sets: { teams: counted } },
                scopes: [...scopes, ...document.scopes],
              };
              yield decide(model, caller, owner);
            }
  }
}

/** A token of the caller, and whether it is valid. */
interface Holder {
  readonly id: string;
  readonly isValid: Timeline<boolean>;
  /** On each node. */
  readonly clients: readonly Client[];
}

const lanes = 3;
const kinds = ["get", "get", "list", "create", "patch", "patch", "batch"] as const;

for (const isCut of [false, true])
  describe(`rights that change on one of two nodes${isCut ? ", without notifications" : ""}`, () => {
    let server: PostgresServer;
    let url: string;
    let nodes: readonly TestApp[] = [];
    let admin: Client;
    before(async () => {
      server = await PostgresServer.shared();
      url = await server.preparedDatabase();
      nodes = [await startApp({ store: url }), await startApp({ store: url })];
      const [first] = nodes;
      assert.ok(first !== undefined);
      admin = new Client(first);
      for (const [path, body] of [
        ["/-/collections/memberships", {}],
        ["/projects/one", { lead: "eve" }],
        ["/-/access", bodyOf({ scopes: [], isActive: false })],
        ["/-/collections/posts", { ...allRules[0], references }],
      ] as const)
        assert.ok((await admin.put(path, body)).status < 300);
      for (let lane = 0; lane < lanes; lane++) {
        await admin.put(`/posts/p${lane}`, { team: "north", project: "one" });
        await admin.patch(`/posts/p${lane}`, { _owner: "eve" });
      }
    });
    after(async () => {
      for (const node of nodes) await node.stop();
      await server.close();
    });

    async function issue(): Promise<Holder> {
      const request = { name: "ann", subject: "ann", scopes, roles: ["writer"] };
      const { id, token } = JSON.parse((await admin.post("/-/tokens", request)).body);
      const clients = nodes.map((node) => new Client(node, token));
      return { id, isValid: new Timeline(true), clients };
    }

    /** Ends the connections on which the nodes are notified. */
    const cut = () =>
      server.admin(
        (sql) => sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'restante'
          AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify%')`,
        url,
      );

    it("are those of each answer", async () => {
      const random = randomNumbers(newSeed("rights of two nodes"));
      const world = new World(admin, lanes, random);
      const holders = await Promise.all(Array.from({ length: lanes }, issue));
      let left = runs(40, 600);
      const counts = new Map<number, number>();

      const revoke = async (lane: number) => {
        const { id, isValid } = holders[lane] ?? (await issue());
        await isValid.change(false, () => admin.remove(`/-/tokens/${id}`));
        // It is used for longer than it may be valid.
        await sleep(random() * 2 * lagMs);
        holders[lane] = await issue();
      };
      const changeRights = async () => {
        for (; left > 0; left--) {
          if (random() < 0.05) await revoke(Math.floor(random() * lanes));
          else await world.change();
          if (isCut) await cut();
          if (random() < 0.3) await sleep(random() * 100);
          if (random() < 0.05) await sleep(lagMs);
        }
      };
      const ask = async (lane: number) => {
        let stored: Stored = { id: `p${lane}`, fields: { team: "north", project: "one" } };
        while (left > 0) {
          const holder = holders[lane];
          assert.ok(holder !== undefined);
          const kind = pick(random, kinds);
          const patch = random() < 0.5 ? { n: random() } : { team: pick(random, teams) };
          const from = performance.now();
          const status = await send(pick(random, holder.clients), kind, stored, patch);
          const span = [from, performance.now()] as const;
          const isWrite = kind !== "get" && kind !== "list";
          const valid = holder.isValid.during(from - lagMs, span[1]);
          const expected = new Set(
            valid.includes(true)
              ? world.decisions(lane, span, isWrite && status < 300, (model, caller, owner) =>
                  expectedOf(model, caller, { ...stored, owner }, kind, patch),
                )
              : [],
          );
          // An address may send few tokens that are not valid.
          if (valid.includes(false)) expected.add(401).add(429);
          assert.ok(expected.has(status), `${kind}: ${status} is none of ${[...expected]}`);
          if (status === 200 && isWrite)
            stored = { ...stored, fields: { ...stored.fields, ...patch } };
          counts.set(status, (counts.get(status) ?? 0) + 1);
          if (status === 401) await sleep(random() * 200);
        }
      };
      await Promise.all([changeRights(), concurrently(lanes, ask)]);
      assert.ok(counts.size > 1, `${[...counts]}`);
    });
  });

type Kind = (typeof kinds)[number];

/** Returns the status; for a list, that of a GET of the resource. */
async function send(client: Client, kind: Kind, { id }: Stored, patch: object): Promise<number> {
  const path = `/posts/${id}`;
  if (kind === "get") return (await client.get(path)).status;
  if (kind === "create") return (await client.post("/posts", { project: "one", ...patch })).status;
  if (kind === "list") {
    const { status, body } = await client.get("/posts?limit=1000&fields=id");
    return status === 200 && !body.includes(`"${id}"`) ? 404 : status;
  }
  const { status } =
    kind === "patch"
      ? await client.patch(path, patch)
      : await client.batch([{ method: "PATCH", path, body: patch }]);
  // Who does not see the result gets none.
  return status === 204 ? 200 : status;
}

function expectedOf(
  model: RulesModel,
  caller: Caller,
  stored: Stored,
  kind: Kind,
  patch: Readonly<Record<string, unknown>>,
): number {
  if (kind === "create") return model.create(caller, "", { project: "one", ...patch }).status;
  if (kind === "patch" || kind === "batch") return model.update(caller, stored, patch).status;
  if (model.grants(caller, "read").length === 0) return 403;
  return model.isVisible(caller, stored) ? 200 : 404;
}
