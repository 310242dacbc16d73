// Prepared responses equal those of requests that are run, whatever was written, defined, given or revoked before.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { RemoteCommitter, runCommitRequest } from "../../src/store/remote-committer.ts";
import { stopTimeHere, withClockMoved } from "../clock.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";

const steps = runs(80, 6_000);

/** Ignored in every response, but a request with it is not prepared. */
const unprepared = { "if-unmodified-since": "an invalid date" };

type Fields = Readonly<Record<string, string>>;

interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** All of a response except what is new in each. Wrong tokens are limited, so 401 and 429 are alike. */
async function show(response: Response): Promise<Shown> {
  const { status } = response;
  const text = await response.text();
  if (status === 401 || status === 429) return { status: 401, headers: {}, body: "" };
  const headers = Object.fromEntries(response.headers);
  const fresh = ["x-request-id", "date", "connection", "keep-alive"];
  // The body of a problem has the request id, which gets longer.
  const ignored = status < 400 ? fresh : [...fresh, "content-length"];
  for (const name of ignored) delete headers[name];
  return { status, headers, body: text.replace(/,"requestId":"[^"]*"/, "") };
}

interface Caller {
  readonly secret: string | null;
  readonly id: string;
}

const collections = ["people", "notes"] as const;
const ids = ["a", "b", "c"] as const;
const hidden = { type: "object", properties: { n: { type: "integer", writeOnly: true } } };
const definitions = [
  {},
  { access: { read: "public" } },
  { access: { read: "owner", update: "owner" } },
  { access: { read: "public" }, cache: { maxAge: 60 } },
  { schema: hidden },
  {
    access: {
      read: [
        { name: "ones", to: "everyone", where: { n: 1 }, fields: ["n"] },
        { name: "own", to: "owner" },
        { name: "others", to: { scope: "notes:read" } },
      ],
    },
  },
  { access: { read: [{ name: "numbers", to: "token", where: { n: { in: "$my.numbers" } } }] } },
  { access: { read: "admin" }, cache: { maxAge: 60 } },
  {
    access: {
      read: [
        { name: "all", to: "everyone" },
        { name: "readers", to: { role: "reader" }, fields: ["n"] },
      ],
    },
    cache: { maxAge: 60 },
  },
];
/** What is shown does not depend on these. */
const indexes = [{}, { indexed: ["n"] }, { searchable: ["n"] }, { unique: ["u"] }];
const references = { note: { collection: "notes", onDelete: "unset" } };
const scopeSets = [["admin"], ["*:read"], ["people:*"], ["notes:read", "people:create"]];
const roleSets = [[], [], ["reader"], ["root", "reader"]];
const numbersOf = (where: object) => ({ numbers: { collection: "notes", where, field: "n" } });
const accessDocuments = [
  { sets: numbersOf({ note: "a" }) },
  { roles: { reader: ["people:read"] }, sets: numbersOf({ n: { gte: 1 } }) },
  { roles: { reader: ["*:read"] }, sets: numbersOf({ note: "b" }) },
  { roles: { root: ["admin"] }, sets: numbersOf({ n: { lt: 2 } }) },
];
const queries = [
  "",
  "?limit=2",
  "?page=2&limit=1",
  "?n=1",
  "?fields=n",
  "?sort=-n",
  "?fields=_owner",
  "?expand=note",
  "?note.n=1",
  "?sort=-note.n&limit=2",
  "?expand=note.note&limit=2",
  "?aggregate=count,sum(n)",
  "?aggregate=count&by=note&sort=-count",
];

class Session {
  readonly #random: () => number;
  readonly #servers: readonly TestApp[];
  readonly #admin: string;
  #callers: readonly Caller[];
  #tags: readonly string[] = [];
  /** Most requests repeat the caller or the path of the one before. */
  #caller: Caller;
  #path = "/people";

  constructor(servers: readonly TestApp[], admin: string, seed: number) {
    this.#servers = servers;
    this.#admin = admin;
    this.#random = randomNumbers(seed);
    this.#caller = { secret: admin, id: "" };
    this.#callers = [this.#caller, { secret: null, id: "" }];
  }

  async run(): Promise<void> {
    for (const id of ids) await this.#write("PUT", `/notes/${id}`, {});
    for (const name of collections)
      await this.#write("PUT", `/-/collections/${name}`, { references });
    await this.#write("PUT", "/-/access", this.#pick(accessDocuments));
    for (let step = 0; step < steps; step++) {
      if (this.#random() < 0.35) await this.#change();
      await this.#read();
    }
  }

  #pick<T>(values: readonly T[]): T {
    const picked = values[Math.floor(this.#random() * values.length)];
    if (picked === undefined) throw new Error("there must be a value");
    return picked;
  }

  #write(method: string, path: string, body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#admin}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(this.#pick(this.#servers).url + path, { method, headers, ...sent });
  }

  async #change(): Promise<void> {
    const name = this.#pick(collections);
    const at = `/${name}/${this.#pick(ids)}`;
    const n = Math.floor(this.#random() * 3);
    const fields = this.#random() < 0.5 ? { n } : { n, note: this.#pick(ids) };
    const kind = this.#random();
    if (kind < 0.3) await this.#write("PUT", at, fields);
    else if (kind < 0.4) await this.#write("POST", `/${name}`, fields);
    else if (kind < 0.5) await this.#write("DELETE", at);
    else if (kind < 0.7) {
      const definition = { ...this.#pick(definitions), ...this.#pick(indexes) };
      const isReferring = this.#random() < 0.8;
      const sent = isReferring ? { ...definition, references } : definition;
      await this.#write("PUT", `/-/collections/${name}`, sent);
    } else if (kind < 0.75) await this.#write("DELETE", `/-/collections/${name}?confirm=${name}`);
    else if (kind < 0.88) await this.#issue();
    else if (kind < 0.94) await this.#write("PUT", "/-/access", this.#pick(accessDocuments));
    else await this.#revoke();
  }

  async #issue(): Promise<void> {
    const roles = this.#pick(roleSets);
    const scopes = roles.length === 0 ? this.#pick(scopeSets) : [];
    const request = { name: "t", scopes, roles, subject: this.#pick(["s", "t"]) };
    const issued = await (await this.#write("POST", "/-/tokens", request)).json();
    const { id, token } = issued as { id: string; token: string };
    this.#callers = [...this.#callers, { secret: token, id }];
  }

  /** Revoked tokens are still used. */
  async #revoke(): Promise<void> {
    const { id } = this.#random() < 0.5 ? this.#caller : this.#pick(this.#callers);
    if (id !== "") assert.equal((await this.#write("DELETE", `/-/tokens/${id}`)).status, 204);
  }

  /** Sends the same request several times to either server; all have the response of the one that is run. */
  async #read(): Promise<void> {
    this.#caller = this.#random() < 0.5 ? this.#caller : this.#pick(this.#callers);
    this.#path = this.#random() < 0.7 ? this.#path : this.#somePath();
    const { secret } = this.#caller;
    const method = this.#random() < 0.9 ? "GET" : "HEAD";
    const headers = { ...this.#fields(), ...(secret && { authorization: `Bearer ${secret}` }) };
    const send = ({ url }: TestApp, more: Fields = {}) =>
      fetch(url + this.#path, { method, headers: { ...headers, ...more } }).then(show);
    for (const server of this.#servers) {
      const expected = await send(server, unprepared);
      for (let repeated = 0; repeated < 2; repeated++)
        assert.deepEqual(await send(server), expected, `${method} ${this.#path}`);
      const { etag } = expected.headers;
      if (etag !== undefined) this.#tags = [etag, ...this.#tags.slice(0, 5)];
    }
  }

  #somePath(): string {
    const name = this.#pick(collections);
    const kind = this.#random();
    if (kind < 0.35) return `/${name}/${this.#pick(ids)}`;
    if (kind < 0.5) return `/${name}/${this.#pick(ids)}?expand=note`;
    return `/${name}${this.#pick(queries)}`;
  }

  #fields(): Fields {
    const kind = this.#random();
    if (kind < 0.5) return {};
    if (kind < 0.6 && this.#tags.length > 0) return { "if-none-match": this.#pick(this.#tags) };
    if (kind < 0.7) return { "accept-encoding": this.#pick(["gzip", "identity", "*;q=0"]) };
    if (kind < 0.77) return { "if-modified-since": new Date(Date.now() + 60_000).toUTCString() };
    if (kind < 0.84) return { "if-match": this.#pick(["*", '"none"']) };
    return { accept: this.#pick(["application/json", "text/csv", "application/xml", "*/*"]) };
  }
}

describe("prepared responses, on a server and a worker of one store", () => {
  let folder: string;
  let apps: readonly TestApp[];
  const adminToken = newSecret();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    const config = { data: join(folder, "data"), adminToken };
    const owner = await startApp(config);
    const committer: RemoteCommitter = new RemoteCommitter(async (request) => {
      committer.receive(await runCommitRequest(owner.writer, request));
    });
    // The worker stops first.
    apps = [await startApp(config, undefined, committer), owner];
  });
  after(async () => {
    for (const app of apps) await app.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("equal the responses of requests that are run", () =>
    new Session(apps, adminToken, newSeed("prepared responses")).run());
});

const hourMs = 3_600_000;

/** Issues a token for one hour. */
async function issueShort(app: TestApp): Promise<string> {
  const expiresAt = new Date(Date.now() + hourMs);
  const made = await app.request("/-/tokens", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "short", scopes: ["people:read"], expiresAt }),
  });
  return ((await made.json()) as { readonly token: string }).token;
}

describe("a prepared response", () => {
  // A limit for requests fills up again with time.
  stopTimeHere();
  const started: TestApp[] = [];
  const startWith = async (...options: Parameters<typeof startApp>): Promise<TestApp> => {
    const app = await startApp(...options);
    started.push(app);
    await app.request("/people/a", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    return app;
  };
  after(async () => {
    for (const app of started) await app.stop();
  });

  it("has a request id of its own, and a line in the log", async () => {
    const { log, settled, lines } = captureLog();
    const app = await startWith({}, log);
    const requestIds: (string | null)[] = [];
    for (let repeated = 0; repeated < 4; repeated++)
      requestIds.push((await app.request("/people/a?fields=id")).headers.get("x-request-id"));
    assert.equal(new Set(requestIds).size, 4);
    await settled();
    const logged = lines().filter(({ requestId }) => requestIds.includes(String(requestId)));
    assert.equal(logged.length, 4);
    const [first] = logged;
    for (const line of logged) {
      const { requestId, time, ms, ...same } = line;
      assert.equal(typeof ms, "number");
      const { requestId: _id, time: _time, ms: _ms, ...expected } = first ?? {};
      assert.deepEqual(same, expected);
      assert.equal(same.path, "/people/a");
    }
  });

  it("is counted against the rate limits", async () => {
    const app = await startWith({ rateLimitPerToken: 3 });
    const token = await app.token("people:read");
    for (let left = 2; left >= 0; left--) {
      const { status, headers } = await app.request("/people/a", { token });
      assert.equal(status, 200);
      assert.match(headers.get("ratelimit") ?? "", new RegExp(`"token";r=${left};`));
    }
    assert.equal((await app.request("/people/a", { token })).status, 429);
  });

  it("names only the origin of its own request", async () => {
    const app = await startWith({ corsOrigins: ["https://a.example", "https://b.example"] });
    const allowed = async (origin: string) =>
      (await app.request("/people/a", { headers: { origin } })).headers.get(
        "access-control-allow-origin",
      );
    for (let repeated = 0; repeated < 3; repeated++) {
      assert.equal(await allowed("https://a.example"), "https://a.example");
      assert.equal(await allowed("https://b.example"), "https://b.example");
      assert.equal(await allowed("https://c.example"), null);
    }
  });

  it("is not sent for a token that has expired", async () => {
    const app = await startWith();
    const token = await issueShort(app);
    for (let repeated = 0; repeated < 3; repeated++)
      assert.equal((await app.request("/people/a", { token })).status, 200);
    await withClockMoved(2 * hourMs, async () =>
      assert.equal((await app.request("/people/a", { token })).status, 401),
    );
  });

  it("is not sent for a token that was revoked", async () => {
    const app = await startWith();
    const made = await app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "revoked", scopes: ["people:read"] }),
    });
    const { id, token } = (await made.json()) as { id: string; token: string };
    for (let repeated = 0; repeated < 3; repeated++)
      assert.equal((await app.request("/people/a", { token })).status, 200);
    assert.equal((await app.request(`/-/tokens/${id}`, { method: "DELETE" })).status, 204);
    assert.equal((await app.request("/people/a", { token })).status, 401);
  });

  it("is not sent after the time until which a rule shows it", async () => {
    const app = await startWith();
    const schema = { properties: { until: { type: "string", format: "date-time" } } };
    const read = [{ name: "now", to: "everyone", where: { until: { gt: "$now" } } }];
    const send = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/json" };
      const answer = await app.request(path, {
        method: "PUT",
        headers,
        body: JSON.stringify(body),
      });
      assert.ok(answer.ok, await answer.text());
    };
    await send("/-/collections/offers", { schema, access: { read } });
    await send("/offers/a", { until: new Date(Date.now() + hourMs).toISOString() });
    const show = async (path: string) => (await app.request(path, { token: null })).text();
    const paths = ["/offers/a", "/offers", "/offers/a?fields=until"];
    for (const path of paths)
      for (let repeated = 0; repeated < 3; repeated++) assert.match(await show(path), /"until"/);
    await withClockMoved(2 * hourMs, async () => {
      for (const path of paths) assert.doesNotMatch(await show(path), /"until"/);
    });
  });

  it("with fields for administrators is not sent to others", async () => {
    const app = await startWith();
    const token = await app.token("*:read");
    for (const path of ["/people?fields=_owner", "/people/a?fields=_owner"])
      for (let repeated = 0; repeated < 3; repeated++) {
        assert.equal((await app.request(path)).status, 200);
        assert.notEqual((await app.request(path, { token })).status, 200);
      }
  });

  it("is not sent after a reload, also when its request began before that", async () => {
    const app = await startWith();
    await app.post("notes", { text: "é".repeat(50_000) });
    const headers = {
      host: "localhost",
      authorization: `Bearer ${app.admin}`,
      "accept-encoding": "gzip",
    };
    // The last one is encoded in another thread.
    for (const path of ["/people/a", "/people?n=1", "/notes"]) {
      const send = async (target = path) => {
        const response = await app.direct(new Request(`http://localhost${target}`, { headers }));
        await response.arrayBuffer();
        return response.headers.get("access-control-allow-origin");
      };
      const isSent = async (origin: string | null) => {
        for (let repeated = 0; repeated < 3; repeated++) assert.equal(await send(), origin, path);
      };
      const begun = send();
      app.reload({ corsOrigins: [] });
      const other = send("/-/health");
      assert.deepEqual(await Promise.all([begun, other]), ["*", null]);
      await isSent(null);
      app.reload({});
      await isSent("*");
      app.reload({ corsOrigins: [] });
      await isSent(null);
      app.reload({});
    }
  });

  it("is not sent to another host", async () => {
    const app = await startWith({ baseUrl: "http://localhost:1" });
    const send = (host: string) =>
      app.direct(
        new Request("http://localhost/people/a", {
          headers: { host, authorization: `Bearer ${app.admin}` },
        }),
      );
    for (let repeated = 0; repeated < 3; repeated++) {
      assert.equal((await send("localhost")).status, 200);
      assert.equal((await send("other.example")).status, 421);
    }
  });

  it("is not sent to the host of a proxy when the proxy does not say which host it was", async () => {
    const app = await startWith({ baseUrl: "http://shop.example", trustProxy: ["192.0.2.7"] });
    const send = (forwarded: string | undefined, peer = "192.0.2.7") =>
      app.direct(
        new Request("http://backend/people/a", {
          headers: {
            host: "backend",
            authorization: `Bearer ${app.admin}`,
            ...(forwarded !== undefined && { "x-forwarded-host": forwarded }),
          },
        }),
        peer,
      );
    for (let repeated = 0; repeated < 3; repeated++) {
      assert.equal((await send("shop.example")).status, 200);
      assert.equal((await send(undefined)).status, 421);
      assert.equal((await send("other.example")).status, 421);
      assert.equal((await send("shop.example", "192.0.2.8")).status, 421);
    }
  });
});
