// The settings of a running server: values, sources, no secrets.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { type Config, readConfig, settings } from "../../src/server/config.ts";
import { describeSettings } from "../../src/server/describe-settings.ts";
import { startApp, type TestApp } from "./app.ts";

interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly source: string;
  readonly from: string | null;
  readonly reloadable: boolean;
}

let cwd: string;
let app: TestApp;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-settings-"));
  app = await startApp({ logLevel: "silent", rateLimitPerToken: 10_000 });
});
after(async () => {
  await app.stop();
  await rm(cwd, { recursive: true });
});

describe("GET /-/settings", () => {
  it("shows every setting in the order of the documentation, to admins", async () => {
    const response = await app.request("/-/settings");
    assert.equal(response.headers.get("cache-control"), "no-store");
    const { data } = (await response.json()) as { data: Setting[] };
    assert.deepEqual(
      data.map(({ name }) => name),
      Object.keys(settings),
    );
    const byName = new Map(data.map((setting) => [setting.name, setting]));
    assert.deepEqual(byName.get("rateLimitPerToken"), {
      ...{ name: "rateLimitPerToken", value: 10_000, source: "program", from: null },
      reloadable: true,
    });
    assert.deepEqual(byName.get("metricsPort"), {
      ...{ name: "metricsPort", value: null, source: "default", from: null },
      reloadable: false,
    });
    const token = await app.token("*:*", "metrics");
    assert.equal((await app.request("/-/settings", { token })).status, 403);
    assert.equal((await app.request("/-/settings", { token: null })).status, 401);
    assert.equal((await app.request("/-/settings?name=port")).status, 400);
  });
});

describe("POST /-/settings", () => {
  it("is for admins, and has no body", async () => {
    const token = await app.token("*:*", "metrics");
    const post = (init = {}, query = "") =>
      app.request(`/-/settings${query}`, { method: "POST", ...init });
    assert.equal((await post({ token })).status, 403);
    assert.equal((await post({ token: null })).status, 401);
    assert.equal((await post({}, "?port=1")).status, 400);
    const headers = { "content-type": "application/json" };
    assert.equal((await post({ body: '{"port":1}', headers })).status, 400);
  });

  it("is 409 where a program runs the server, which has the settings", async () => {
    const response = await app.request("/-/settings", { method: "POST" });
    assert.equal(response.status, 409);
    assert.match(await response.text(), /program/);
  });
});

describe("sources and secrets", () => {
  const secret = newSecret();
  const describeOf = (...of: Parameters<typeof readConfig>) => {
    const config = readConfig(...of);
    assert.ok(!Array.isArray(config), JSON.stringify(config));
    const values = describeSettings(config as Config);
    return {
      text: JSON.stringify(values),
      byName: Object.fromEntries(values.map((setting) => [setting.name, setting])),
    };
  };

  it("names the flag, the variable or the file of each value", async () => {
    const file = join(cwd, "restante.json");
    await writeFile(file, '{"port":1,"host":"file.test","backupEvery":"6h","trustProxy":["::1"]}');
    const environment = { RESTANTE_HOST: "variable.test", RESTANTE_WORKERS: "auto" };
    const { byName } = describeOf({ flags: { port: "3" }, environment, cwd });
    const shown = (name: string) => {
      const { value, source, from } = byName[name] ?? {};
      return [value, source, from];
    };
    assert.deepEqual(shown("port"), [3, "flag", "--port"]);
    assert.deepEqual(shown("host"), ["variable.test", "environment", "RESTANTE_HOST"]);
    assert.deepEqual(shown("backupEvery"), ["6h", "file", file]);
    assert.deepEqual(shown("trustProxy"), [["::1"], "file", file]);
    assert.deepEqual(shown("data"), [join(cwd, "data"), "default", null]);
    assert.equal(typeof shown("workers")[0], "number");
  });

  it("shows no secret, wherever a URL has one", () => {
    const url = `postgres://ann:${secret}@db.test:5433/people?password=${secret}#${secret}`;
    const flags = { store: url, readStore: url, files: "s3://kept/a?region=eu" };
    const environment = { RESTANTE_ADMIN_TOKEN: secret };
    const { text, byName } = describeOf({ flags, environment, cwd });
    assert.ok(!text.includes(secret) && !text.includes("ann"), text);
    assert.equal(byName.store?.value, "postgres://db.test:5433/people");
    assert.equal(byName.files?.value, "s3://kept/a");
    assert.equal(byName.adminToken?.value, "(redacted)");
  });
});
