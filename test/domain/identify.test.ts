// Finding the principal of a secret: the same object while nothing changes, and with the scopes of its roles.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import { AccessDocuments } from "../../src/domain/access-documents.ts";
import { Tokens } from "../../src/domain/tokens.ts";
import type { Principal } from "../../src/model/principal.ts";
import { system } from "../../src/model/principal.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

describe("the principal of a secret", () => {
  let folder: string;
  let opened: Store;
  let access: Access;
  let tokens: Tokens;
  let documents: AccessDocuments;
  let now = 1_000;
  /** The names whose rules were read. */
  let read: string[] = [];
  let tokenReads = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    opened = await openSqlite({ path: folder });
    const store = new Proxy(opened, {
      get(target, name: keyof Store) {
        const member = target[name];
        if (typeof member !== "function") return member;
        if (name === "token") tokenReads++;
        if (name !== "rules") return member.bind(target);
        return (collection: string) => {
          read.push(collection);
          return target.rules(collection);
        };
      },
    });
    const clock = () => now;
    access = new Access(store, clock);
    tokens = new Tokens(store, clock);
    documents = new AccessDocuments(store, clock);
  });
  after(async () => {
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  const secretOf = async (request: object): Promise<string> => {
    const issued = await tokens.create(system, { name: "t", ...request });
    return "secret" in issued ? issued.secret : assert.fail(issued.detail);
  };

  const setRoles = async (roles: object): Promise<void> => {
    const document = await documents.replace(system, JSON.stringify({ roles }));
    assert.ok("roles" in document);
  };

  const identify = async (secret: string): Promise<Principal> =>
    (await access.callers.identify(secret)) ?? assert.fail("the secret is not valid");

  it("is the same object while neither the token nor the document changes", async () => {
    const secret = await secretOf({ scopes: ["a:read"], roles: ["editor"] });
    const alone = await identify(secret);
    assert.deepEqual([alone.scopes, alone.roles], [["a:read"], []]);
    assert.equal(await identify(secret), alone);
    await setRoles({ editor: ["b:read", "a:read"] });
    const editor = await identify(secret);
    assert.deepEqual([editor.scopes, editor.roles], [["a:read", "b:read"], ["editor"]]);
    await setRoles({ editor: ["b:read", "a:read"] });
    await opened.commit([{ kind: "create-collection", collection: "others", at: 1 }]);
    assert.equal(await identify(secret), editor);
    await setRoles({ editor: ["c:read"] });
    const changed = await identify(secret);
    assert.deepEqual(changed.scopes, ["a:read", "c:read"]);
    assert.equal(await identify(secret), changed);
  });

  it("is found without a read of its token, until any token changes", async () => {
    const [secret, other] = [
      await secretOf({ scopes: ["a:read"] }),
      await secretOf({ scopes: ["b:read"] }),
    ];
    const principal = await identify(secret);
    tokenReads = 0;
    await opened.commit([{ kind: "create-collection", collection: "more", at: 1 }]);
    assert.equal(await identify(secret), principal);
    assert.equal(tokenReads, 0);
    const id = (await identify(other)).credential?.id ?? assert.fail();
    await opened.commit([{ kind: "revoke-token", id, at: 1 }]);
    assert.equal(await access.callers.identify(other), undefined);
    tokenReads = 0;
    assert.deepEqual((await identify(secret)).credential, principal.credential);
    assert.equal(tokenReads, 1);
  });

  it("is found without the document when the token has no roles", async () => {
    const [plain, editor] = [
      await secretOf({ scopes: ["a:read"] }),
      await secretOf({ scopes: [], roles: ["editor"] }),
    ];
    read = [];
    const principal = await identify(plain);
    await setRoles({ editor: ["d:read"] });
    assert.equal(await identify(plain), principal);
    assert.deepEqual([principal.roles, read], [[], []]);
    assert.deepEqual((await identify(editor)).scopes, ["d:read"]);
    assert.deepEqual(read, ["-access"]);
  });

  it("does not exist when the token has expired, whatever its roles give", async () => {
    const expiresAt = new Date(now + 1_000).toISOString();
    const secret = await secretOf({ scopes: [], roles: ["root"], expiresAt });
    await setRoles({ root: ["admin"] });
    assert.deepEqual((await identify(secret)).scopes, ["admin"]);
    now += 1_000;
    assert.equal(await access.callers.identify(secret), undefined);
    await setRoles({ root: ["admin", "a:read"] });
    assert.equal(await access.callers.identify(secret), undefined);
  });
});
