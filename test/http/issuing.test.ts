// Tokens that are issued by others than administrators: who may issue what, as a grid.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const inDays = (days: number): string =>
  new Date(Date.now() + days * 24 * 60 * 60_000).toISOString();

const roles = {
  guest: ["posts:read"],
  clerk: ["issue:guest"],
  root: ["admin"],
} as const;

const plain = { name: "t", scopes: [], roles: ["guest"], expiresAt: inDays(89) };

/** Requests, and what one who may issue every role gets. */
const requests = {
  "a role": [plain, 201],
  "another role": [{ ...plain, roles: ["clerk"] }, 201],
  "two roles": [{ ...plain, roles: ["guest", "clerk"] }, 201],
  "a role of administrators": [{ ...plain, roles: ["root"] }, "admin"],
  "a role beside one of administrators": [{ ...plain, roles: ["guest", "root"] }, "admin"],
  "a role that nobody defined": [{ ...plain, roles: ["ghost"] }, "/roles/0"],
  "a scope": [{ ...plain, scopes: ["posts:read"] }, "/scopes"],
  "a scope of administrators": [{ ...plain, scopes: ["admin"] }, "admin"],
  "a subject": [{ ...plain, subject: "ann" }, "/subject"],
  "no end": [{ ...plain, expiresAt: null }, "/expiresAt"],
  "an end after 90 days": [{ ...plain, expiresAt: inDays(91) }, "/expiresAt"],
} as const;
type Asked = keyof typeof requests;
type Expected = (typeof requests)[Asked][1] | `issue:${string}`;

/** Callers, and where they get something else. A text is a scope that is missing, or the place of an error. */
const callers: Readonly<Record<string, readonly [object, (asked: Asked) => Expected]>> = {
  "an administrator": [{ scopes: ["admin"] }, () => 201],
  "one who issues every role": [{ scopes: ["issue:*"] }, (asked) => requests[asked][1]],
  "one who issues one role": [{ scopes: ["issue:guest"] }, only("guest")],
  "one whose role issues one role": [{ scopes: [], roles: ["clerk"] }, only("guest")],
  "one who issues a role of administrators": [{ scopes: ["issue:root"] }, only("root")],
  "one with every scope of collections": [{ scopes: ["*:*", "action:*"] }, () => "admin"],
  "one with the role that is issued": [{ scopes: [], roles: ["guest"] }, () => "admin"],
};

function only(issued: string): (asked: Asked) => Expected {
  return (asked) => {
    const [request, expected] = requests[asked];
    const other = request.roles.find((role) => role !== issued);
    return other === undefined ? expected : `issue:${other}`;
  };
}

describe("issuing tokens", () => {
  let app: TestApp;
  let admin: Client;
  before(async () => {
    app = await startApp();
    admin = new Client(app);
    for (const name of ["posts", "issue"]) await app.post(name, { of: name });
    const { status, body } = await admin.put("/-/access", { roles });
    assert.equal(status, 200, body);
  });
  after(() => app.stop());

  const issue = async (by: Client, request: object) => {
    const { status, body } = await by.post("/-/tokens", { name: "t", scopes: [], ...request });
    assert.equal(status, 201, body);
    const issued = JSON.parse(body);
    return { ...issued, client: new Client(app, issued.token) };
  };
  const total = async () => (await admin.json<{ total: number }>("/-/tokens")).total;

  for (const [name, [held, expectedOf]] of Object.entries(callers))
    it(`by ${name}`, async () => {
      const { client } = await issue(admin, held);
      for (const asked of Object.keys(requests) as Asked[]) {
        const before = await total();
        const answer = await client.post("/-/tokens", requests[asked][0]);
        const expected = expectedOf(asked);
        assert.equal(await total(), before + (expected === 201 ? 1 : 0), asked);
        if (expected === 201) assert.equal(answer.status, 201, `${asked}: ${answer.body}`);
        else if (expected.startsWith("/"))
          assert.deepEqual(pointersOf(assertProblem(answer, "invalid-body")), [expected], asked);
        else {
          const problem = assertProblem(answer, "insufficient-scope");
          assert.equal(problem.detail, `The token needs the scope ${expected}.`, asked);
        }
      }
    });

  it("gives what the role gives, a subject of its own, and nothing else", async () => {
    const issuer = await issue(admin, { scopes: ["issue:guest"], subject: "ann" });
    const guest = await issue(issuer.client, plain);
    assert.equal(guest.subject, guest.id);
    assert.equal((await guest.client.get("/posts")).status, 200);
    assertProblem(await guest.client.get("/issue"), "insufficient-scope");
    assertProblem(await guest.client.post("/-/tokens", plain), "insufficient-scope");
    assertProblem(await issuer.client.get("/posts"), "insufficient-scope");
    for (const path of ["/-/tokens", `/-/tokens/${guest.id}`])
      assertProblem(await issuer.client.get(path), "insufficient-scope");
    assertProblem(await issuer.client.remove(`/-/tokens/${guest.id}`), "insufficient-scope");
  });

  it("is no right to the collection `issue`", async () => {
    const { client } = await issue(admin, { scopes: ["issue:read", "issue:*"] });
    assertProblem(await client.get("/issue"), "insufficient-scope");
    const { client: every } = await issue(admin, { scopes: ["*:read"] });
    assert.equal((await every.get("/issue")).status, 200);
  });

  it("answers a repeated key as for administrators", async () => {
    const { client } = await issue(admin, { scopes: ["issue:guest"] });
    const key = { "idempotency-key": "one" };
    const first = await client.post("/-/tokens", plain, key);
    assert.equal(first.status, 201, first.body);
    const again = assertProblem(await client.post("/-/tokens", plain, key), "conflict");
    assert.match(again.detail ?? "", new RegExp(JSON.parse(first.body).id));
    const other = { ...plain, name: "other" };
    assertProblem(await client.post("/-/tokens", other, key), "key-reused");
  });
});
