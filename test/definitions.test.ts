// A folder of definitions: applied at start, with all errors reported.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Restante, restante } from "../src/index.ts";
import { CliError } from "../src/lib/cli-error.ts";
import { readDefinitionFiles } from "../src/server/definitions-folder.ts";

let folder: string;
let data: string;
let token = "";
let open: Restante[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "restante-definitions-"));
  data = mkdtempSync(join(tmpdir(), "restante-"));
});
afterEach(async () => {
  for (const each of open) await each.close();
  open = [];
  for (const path of [folder, data]) rmSync(path, { recursive: true, force: true });
});

const write = (name: string, content: unknown): void =>
  writeFileSync(
    join(folder, name),
    typeof content === "string" ? content : JSON.stringify(content, null, 2),
  );

async function start(): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const server = await restante({ data, collections: folder });
  open.push(server);
  token = server.firstAdminToken ?? token;
  return async (path, init = {}) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return server.fetch(new Request(`http://localhost${path}`, { headers, ...init }));
  };
}

async function stop(): Promise<void> {
  await open.pop()?.close();
}

interface View {
  readonly definition: unknown;
  readonly revision: number;
}

describe("a folder of definitions", () => {
  it("defines collections, and leaves others alone", async () => {
    write("people.json", { schema: { type: "object", required: ["name"] } });
    write("readme.txt", "not a definition");
    mkdirSync(join(folder, "old.json"));
    const ask = await start();
    const view = (await (await ask("/-/collections/people")).json()) as View;
    assert.deepEqual(view.definition, { schema: { type: "object", required: ["name"] } });
    assert.equal((await ask("/people", { method: "POST", body: "{}" })).status, 400);
    assert.equal((await ask("/people", { method: "POST", body: '{"name":"A"}' })).status, 201);
    assert.equal((await ask("/others", { method: "POST", body: "{}" })).status, 201);
    const all = (await (await ask("/-/collections")).json()) as { data: readonly unknown[] };
    assert.equal(all.data.length, 2);
  });

  it("changes nothing when the definitions are the same, and updates them otherwise", async () => {
    write("people.json", { preconditions: "required" });
    const first = (await (await (await start())("/-/collections/people")).json()) as View;
    await stop();
    write("people.json", '{ "preconditions"  : "required" }');
    const second = (await (await (await start())("/-/collections/people")).json()) as View;
    assert.deepEqual(second, first);
    await stop();
    write("people.json", {});
    const third = (await (await (await start())("/-/collections/people")).json()) as View;
    assert.deepEqual(third.definition, {});
    assert.ok(third.revision > second.revision);
  });

  it("has the access document in access.json, and other collections beside it", async () => {
    const document = { roles: { editor: ["people:*"] }, sets: {} };
    write("access.json", { roles: document.roles });
    write("people.json", {});
    const ask = await start();
    assert.deepEqual(await (await ask("/-/access")).json(), document);
    assert.equal((await ask("/-/collections/access")).status, 404);
    assert.equal((await ask("/-/collections/people")).status, 200);
    assert.equal((await ask("/-/access", { method: "PUT", body: "{}" })).status, 200);
    await stop();
    // As with definitions, the file counts at each start, and what has no file stays.
    const again = await start();
    assert.deepEqual(await (await again("/-/access")).json(), document);
    await stop();
    rmSync(join(folder, "access.json"));
    const last = await start();
    assert.deepEqual(await (await last("/-/access")).json(), document);
  });

  it("has rules that name what is in access.json, and all their errors are reported", async () => {
    const grantTo = (role: string) => ({
      access: { read: [{ name: "a", to: { role }, where: { owner: "$me" } }] },
    });
    write("access.json", { roles: { editor: [] } });
    write("people.json", grantTo("editor"));
    assert.equal((await (await start())("/-/collections/people")).status, 200);
    await stop();
    write("people.json", { ...grantTo("author"), boundary: { tenant: "$mine" } });
    await assert.rejects(start(), (error) => {
      assert.ok(error instanceof CliError);
      assert.match(error.message, /people\.json \/boundary\/tenant: there is no value \$mine/);
      assert.match(error.message, /people\.json \/access\/read\/0\/to\/role: .*author.*editor/);
      return true;
    });
  });

  it("changes nothing when any of them is refused", async () => {
    const grantTo = (role: string) => ({
      access: { read: [{ name: "a", to: { role }, where: { owner: "$me" } }] },
    });
    const document = { roles: { editor: ["people:*"] }, sets: {} };
    write("access.json", document);
    write("people.json", grantTo("editor"));
    const ask = await start();
    for (const id of ["a", "b"]) {
      const init = { method: "PUT", body: '{"n":1}' };
      assert.equal((await ask(`/notes/${id}`, init)).status, 201);
    }
    await stop();
    const refused = async (reason: RegExp) => {
      await assert.rejects(start(), reason);
      rmSync(join(folder, "access.json"));
      for (const name of ["people.json", "notes.json", "zoo.json"])
        rmSync(join(folder, name), { force: true });
      const again = await start();
      assert.deepEqual(await (await again("/-/access")).json(), document);
      const view = (await (await again("/-/collections/people")).json()) as View;
      assert.deepEqual(view.definition, grantTo("editor"));
      assert.equal((await again("/-/collections/zoo")).status, 404);
      await stop();
    };
    // A rule that names a missing role.
    write("access.json", { roles: { author: [] } });
    write("people.json", grantTo("author"));
    write("zoo.json", grantTo("keeper"));
    await refused(/zoo\.json .*keeper/);
    // Values that are compared at the commit: what comes before it in the transaction is undone.
    write("access.json", { roles: { author: [] } });
    write("people.json", grantTo("author"));
    write("notes.json", { unique: ["n"] });
    write("zoo.json", {});
    await refused(/notes\.json .*a and b have the same n/s);
  });

  it("may have new collections that refer to each other", async () => {
    const to = (collection: string) => ({ references: { other: { collection } } });
    write("cats.json", to("dogs"));
    write("dogs.json", to("cats"));
    write("ants.json", to("ants"));
    const ask = await start();
    for (const [name, other] of [
      ["cats", "dogs"],
      ["dogs", "cats"],
      ["ants", "ants"],
    ] as const) {
      const view = (await (await ask(`/-/collections/${name}`)).json()) as View;
      assert.deepEqual(view.definition, to(other));
    }
  });

  it("can move a set to another name in the document and the rules at once", async () => {
    const set = { collection: "people", where: { owner: "$me" }, field: "team" };
    const grantOf = (name: string) => ({
      access: { read: [{ name: "a", to: "token", where: { team: { in: `$my.${name}` } } }] },
    });
    write("access.json", { roles: {}, sets: { mine: set } });
    write("people.json", {});
    write("teams.json", grantOf("mine"));
    await start();
    await stop();
    write("access.json", { roles: {}, sets: { ours: set } });
    write("teams.json", grantOf("ours"));
    const ask = await start();
    const view = (await (await ask("/-/collections/teams")).json()) as View;
    assert.deepEqual(view.definition, grantOf("ours"));
  });

  it("leaves a collection named access alone, and says how to define one", async () => {
    const ask = await start();
    assert.equal((await ask("/access", { method: "POST", body: "{}" })).status, 201);
    await stop();
    write("access.json", { preconditions: "required" });
    await assert.rejects(start(), (error) => {
      assert.ok(error instanceof CliError);
      assert.match(
        error.message,
        /access\.json \/preconditions: unknown member; known members: roles/,
      );
      assert.match(error.message, /access\.json : is the access document; define a collection of /);
      return true;
    });
    write("access.json", { roles: {} });
    assert.equal((await (await start())("/access")).status, 200);
  });

  it("reports every error of every file at once", () => {
    write("a.json", { preconditions: "always", color: 1 });
    write("b.json", "{");
    write("Upper.json", {});
    write("access.json", { roles: { editor: ["posts"] } });
    assert.throws(
      () => readDefinitionFiles(folder),
      (error) => {
        assert.ok(error instanceof CliError);
        assert.equal(error.code, 2);
        const lines = error.message.split("\n");
        assert.equal(lines.length, 6, error.message);
        const parts = ["a.json /preconditions", "a.json /color", "b.json", "Upper.json"];
        for (const part of [...parts, "access.json /roles/editor/0"])
          assert.ok(
            lines.some((line) => line.includes(part)),
            part,
          );
        return true;
      },
    );
  });

  it("must exist", () => {
    const nowhere = join(folder, "nowhere");
    assert.throws(
      () => readDefinitionFiles(nowhere),
      /^Error: --collections: cannot read the folder/,
    );
    assert.throws(() => readDefinitionFiles(nowhere, "--from"), /^Error: --from: cannot read/);
    symlinkSync(nowhere, join(folder, "lost.json"));
    assert.throws(() => readDefinitionFiles(folder), {
      code: 2,
      message: /^Cannot read .*lost\.json: there is no such file or folder\.$/,
    });
  });
});
