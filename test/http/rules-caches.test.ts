// Two callers through one cache never get each other's bytes.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp } from "./app.ts";
import {
  accepts,
  cases,
  type Got,
  type Name,
  names,
  pick,
  randomState,
  type Sent,
  Server,
  teams,
} from "./rules-states.ts";

interface Kept extends Got {
  /** The values of the request that `Vary` names. */
  readonly selecting: Readonly<Record<string, string>>;
}

/** The directives of Cache-Control. */
const directivesOf = ({ headers }: Got) =>
  new Map(
    (headers.get("cache-control") ?? "").split(",").map((each) => {
      const [name = "", value = ""] = each.trim().toLowerCase().split("=");
      return [name, value] as const;
    }),
  );

/**
 * A cache that stores all that RFC 9111 lets it store, and answers with it as often as it may. A shared one
 * is between all callers and the server; a private one is that of a browser in which callers take turns.
 */
class Cache {
  readonly #server: Server;
  readonly #isShared: boolean;
  readonly #kept = new Map<string, Kept[]>();
  /** How often it answered with what it had, without or after asking the server. */
  readonly hits = { fresh: 0, validated: 0 };

  constructor(server: Server, isShared: boolean) {
    this.#server = server;
    this.#isShared = isShared;
  }

  async get(who: Name, path: string, accept: string): Promise<Got> {
    const request = { authorization: who === "anonymous" ? "" : who, accept };
    const kept = this.#kept.get(path) ?? [];
    const matching = kept.find((each) => isSelected(each, request));
    if (matching !== undefined && this.#isFresh(matching)) {
      this.hits.fresh++;
      return matching;
    }
    const sent: Sent = { method: "GET", path, headers: { accept } };
    // A request can ask about every tag that the cache has.
    const tags = kept.flatMap(({ headers }) => headers.get("etag") ?? []);
    const condition = tags.length > 0 && { "if-none-match": tags.join(", ") };
    const got = await this.#server.send(who, {
      ...sent,
      headers: { ...sent.headers, ...condition },
    });
    if (got.status === 304) {
      const known = kept.find(({ headers }) => headers.get("etag") === got.headers.get("etag"));
      assert.ok(known);
      this.hits.validated++;
      return known;
    }
    if (this.#mayStore(who, got)) {
      const varied = (got.headers.get("vary") ?? "").toLowerCase().split(/, */);
      const selecting = Object.fromEntries(
        Object.entries(request).filter(([name]) => varied.includes(name)),
      );
      this.#kept.set(path, [{ ...got, selecting }, ...kept]);
    }
    return got;
  }

  /** §3, and §3.5 for requests with credentials. */
  #mayStore(who: Name, got: Got): boolean {
    const directives = directivesOf(got);
    if (directives.has("no-store") || got.headers.get("vary") === "*") return false;
    if (!this.#isShared) return true;
    if (directives.has("private")) return false;
    const allowing = ["public", "must-revalidate", "s-maxage"];
    return who === "anonymous" || allowing.some((name) => directives.has(name));
  }

  /** §4.2. What has no lifetime may get one from the cache. */
  #isFresh(kept: Kept): boolean {
    const directives = directivesOf(kept);
    if (directives.has("no-cache")) return false;
    const shared = this.#isShared ? directives.get("s-maxage") : undefined;
    const lifetime = shared ?? directives.get("max-age");
    return lifetime === undefined ? !directives.has("must-revalidate") : Number(lifetime) > 0;
  }
}

/** §4.1. */
const isSelected = ({ selecting }: Kept, request: Readonly<Record<string, string>>): boolean =>
  Object.entries(selecting).every(([name, value]) => request[name] === value);

for (const store of [undefined, "postgres"])
  describe(`caches, on ${store ?? "sqlite"}`, () => {
    const it = itOn(store);
    let server: Server;
    before(async () => {
      server = new Server(await startApp({ store }));
      await server.prepare();
    });
    after(() => server.stop());

    const pathsOf = (ids: readonly string[]) =>
      [
        ...["", "?q=red", "?aggregate=count", "?sort=title", "?limit=2", "?expand=project"],
        ...["?since=0", "?fields=title,_etag", ...ids.map((id) => `/${id}`)],
        ...ids.slice(0, 3).map((id) => `/${id}?expand=project`),
      ].map((query) => `/posts${query}`);

    for (const isShared of [true, false])
      it(`give nobody what others got, when they are ${isShared ? "shared" : "private"}`, async () => {
        const hits = { fresh: 0, validated: 0 };
        for (const [title, rules] of Object.entries(cases)) {
          const random = randomNumbers(newSeed(`caches of ${title} on ${store ?? "sqlite"}`, 1));
          const state = randomState(random);
          await server.begin(rules, "ann", teams.slice(0, 1), { ...state, others: teams });
          const paths = pathsOf(state.posts.map(({ id }) => id));
          const cache = new Cache(server, isShared);
          /** What the server itself gave to a caller. */
          const given = new Map<string, Set<string>>();
          const ask = async (who: Name, path: string, accept: string) => {
            const { body } = await server.send(who, { method: "GET", path, headers: { accept } });
            const name = `${who} ${path} ${accept}`;
            given.set(name, (given.get(name) ?? new Set()).add(withoutPosition(body)));
            return given.get(name);
          };
          for (let count = 0; count < runs(20, 2_000); count++) {
            const [who, path] = [pick(random, names), pick(random, paths)];
            const accept = pick(random, accepts);
            const words = `${title}, request ${count}: ${who} ${path} ${accept}`;
            // A caller may also get what everyone gets.
            const own = (await ask(who, path, accept)) ?? new Set();
            const open = (await ask("anonymous", path, accept)) ?? new Set();
            const got = await cache.get(who, path, accept);
            const body = withoutPosition(got.body);
            assert.ok(own.has(body) || open.has(body), `${words}: ${got.body}`);
            // What others see changes, and so does what a caller sees.
            if (random() < 0.05)
              await server.must("PATCH", pick(random, paths.slice(8, 18)), {
                status: pick(random, ["draft", "published"]),
                team: pick(random, teams),
              });
          }
          hits.fresh += cache.hits.fresh;
          hits.validated += cache.hits.validated;
        }
        // Otherwise nothing would be tested.
        assert.ok(hits.validated > 0, JSON.stringify(hits));
      });

    it("are told by every response who may get it", async () => {
      for (const [title, rules] of Object.entries(cases)) {
        const random = randomNumbers(newSeed(`caches of ${title} on ${store ?? "sqlite"}`, 1));
        const state = randomState(random);
        await server.begin(rules, "ann", teams.slice(0, 1), { ...state, others: teams });
        const paths = pathsOf(state.posts.map(({ id }) => id)).filter(
          () => isLong || random() < 0.3,
        );
        for (const path of paths)
          for (const accept of accepts) {
            const sent = { method: "GET", path, headers: { accept } };
            const got = await Promise.all(names.map((name) => server.send(name, sent)));
            for (const [first, stored] of got.entries())
              for (const [second, wanted] of got.entries()) {
                // A position of a feed is another text each time, for whomever it is.
                if (first === second || sameBytes(stored.body, wanted.body)) continue;
                // What everyone sees is no secret; an admin who asks again gets more.
                const isOpen =
                  sameBytes(stored.body, got[0]?.body ?? "") && names[second] === "admin";
                if (isOpen && !/private/.test(stored.headers.get("cache-control") ?? "")) continue;
                const about = `${title}: ${names[first]} then ${names[second]}, ${path} ${accept}`;
                assertNotReused(stored, about);
                const etag = stored.headers.get("etag");
                if (etag === null || wanted.status !== 200) continue;
                const asked = { ...sent, headers: { accept, "if-none-match": etag } };
                const again = await server.send(names[second] as Name, asked);
                assert.equal(again.status, 200, about);
              }
          }
      }
    });
  });

/** A position of a feed is another text each time, for whomever it is, and so is the id of a request. */
const withoutPosition = (body: string): string =>
  body.replace(position, "").replace(/"requestId":"[^"]*"/, "");
const sameBytes = (one: string, other: string): boolean =>
  withoutPosition(one) === withoutPosition(other);

const position = /(?<="next":")[^"]*(?=","more":(?:true|false)\}$)/;

/** No cache may answer another caller with it: a shared one never, a private one not without the same token. */
function assertNotReused({ status, headers }: Got, words: string): void {
  const control = headers.get("cache-control") ?? "";
  if (/no-store/.test(control)) return;
  assert.match(control, /\bprivate\b/, `${words} ${status}`);
  assert.match(headers.get("vary") ?? "", /\bauthorization\b/i, `${words} ${status}`);
}
