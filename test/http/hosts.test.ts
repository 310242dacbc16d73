// Allowed hosts: that of the base URL, those of --allowed-hosts, or all when neither is set.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AllowedHosts } from "../../src/http/headers/host.ts";
import type { Config } from "../../src/server/settings.ts";
import { openConnection } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { assertProblem } from "./expect.ts";

describe("allowed hosts", () => {
  interface Case {
    readonly base?: string;
    readonly listed?: readonly string[];
    readonly allowed: readonly string[];
    readonly rejected: readonly string[];
  }
  const cases: Readonly<Record<string, Case>> = {
    "without base URL and list: all": {
      allowed: ["a", "evil.example", "127.0.0.1:8080", "[::1]"],
      rejected: [],
    },
    "the base URL's, with its port or none, in any case": {
      base: "https://api.example.org/v1",
      allowed: ["api.example.org", "API.Example.ORG", "api.example.org:443", "api.example.org."],
      rejected: [
        ...["api.example.org:80", "api.example.org:8080", "example.org", "x.api.example.org"],
        ...["api.example.org.evil.example", "localhost", "127.0.0.1", "[::1]"],
      ],
    },
    "a base URL with a port": {
      base: "https://api.example.org:8443",
      allowed: ["api.example.org:8443", "api.example.org"],
      rejected: ["api.example.org:443", "api.example.org:844", "api.example.org:84430"],
    },
    "a base URL on this machine: each of its names": {
      base: "http://localhost:8080",
      allowed: ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "localhost", "[0:0::1]:8080"],
      rejected: ["localhost:80", "127.0.0.2:8080", "evil.example:8080", "localhost.evil.example"],
    },
    "an IPv6 base URL, in any spelling": {
      base: "http://[2001:db8::1]:8080",
      allowed: ["[2001:db8::1]:8080", "[2001:0DB8:0:0::1]:8080", "[2001:db8::1]"],
      rejected: ["[2001:db8::2]:8080", "[2001:db8::1]:80"],
    },
    "a list alone": {
      listed: ["internal", "10.0.0.7:8080", "[fd00::1]"],
      allowed: ["internal", "INTERNAL:9", "10.0.0.7:8080", "[fd00::1]:1", "[fd00:0::1]"],
      rejected: ["10.0.0.7", "10.0.0.7:80", "localhost", "internal.example", "[fd00::2]"],
    },
    "a list beside a base URL": {
      base: "https://api.example.org",
      listed: ["10.0.0.7", "api.example.org:8080", "plain.example:80"],
      allowed: ["api.example.org", "api.example.org:8080", "10.0.0.7:9", "plain.example"],
      rejected: ["api.example.org:8081", "10.0.0.8", "plain.example:8080"],
    },
    "a list that drops the port": {
      base: "https://api.example.org",
      listed: ["api.example.org"],
      allowed: ["api.example.org:8080", "api.example.org"],
      rejected: ["localhost"],
    },
    "a star": {
      base: "https://api.example.org",
      listed: ["*"],
      allowed: ["evil.example", "api.example.org"],
      rejected: [],
    },
  };
  for (const [title, { base, listed = [], allowed, rejected }] of Object.entries(cases)) {
    it(title, () => {
      const hosts = new AllowedHosts(base, listed);
      for (const host of allowed) assert.equal(hosts.allows(host), true, host);
      for (const host of rejected) assert.equal(hosts.allows(host), false, host);
    });
  }
});

const base = "https://api.example.org/v1";

async function served(changes: Partial<Config>, run: (app: TestApp) => Promise<void>) {
  const app = await startApp(changes);
  try {
    await run(app);
  } finally {
    await app.stop();
  }
}

async function ask(app: TestApp, line: string, ...fields: string[]) {
  const wire = await openConnection(app.port);
  const head = [line, `Authorization: Bearer ${app.admin}`, ...fields, "Connection: close"];
  wire.write(`${head.join("\r\n")}\r\n\r\n`);
  const answer = (await wire.response()) ?? assert.fail(`no answer to ${line}`);
  wire.destroy();
  return { ...answer, headers: new Headers(answer.headers) };
}

const get = (app: TestApp, path: string, host: string, ...fields: string[]) =>
  ask(app, `GET ${path} HTTP/1.1`, `Host: ${host}`, ...fields);

describe("a Host that is not that of the base URL", () => {
  it("is rejected with 421 for any request and caller, and nothing is done", () =>
    served({ baseUrl: base, allowedHosts: ["127.0.0.1"] }, async (app) => {
      await app.post("people", { name: "Ada" });
      for (const host of ["evil.example", "evil.example:443", "api.example.org.evil.example"]) {
        for (const line of [
          ...["GET /people", "DELETE /people/x", "OPTIONS /people", "GET /nowhere", "OPTIONS *"],
        ]) {
          const answer = await ask(app, `${line} HTTP/1.1`, `Host: ${host}`);
          const { detail } = assertProblem(answer, "misdirected", base);
          assert.match(detail, /--allowed-hosts/);
          assert.ok(!JSON.stringify(answer).includes("evil"));
        }
      }
      assert.equal((await get(app, "/people", "api.example.org")).status, 200);
      assert.equal((await get(app, "/people", "API.EXAMPLE.ORG:443")).status, 200);
      // One good Host does not open the next request to another.
      assertProblem(await get(app, "/people", "evil.example"), "misdirected", base);
    }));

  it("is accepted at /-/health and /-/ready, where health checks use addresses", () =>
    served({ baseUrl: base, allowedHosts: [] }, async (app) => {
      for (const path of ["/-/health", "/-/ready"]) {
        assert.equal((await get(app, path, "10.1.2.3:8080")).status, 200, path);
        assert.equal((await ask(app, `GET ${path} HTTP/1.0`)).status, 200, path);
      }
      assertProblem(await get(app, "/-/health/x", "10.1.2.3:8080"), "misdirected", base);
      assertProblem(await get(app, "/", "10.1.2.3:8080"), "misdirected", base);
    }));

  it("is read from a trusted proxy, and from nobody else", () =>
    served({ baseUrl: base, allowedHosts: [], trustProxy: ["127.0.0.1"] }, async (app) => {
      const asked = async (field: string) =>
        (await get(app, "/people", "10.1.2.3", `X-Forwarded-Host: ${field}`)).status;
      assert.equal(await asked("api.example.org"), 404);
      assert.equal(await asked("evil.example, api.example.org"), 404);
      for (const field of ["evil.example", "api.example.org, evil.example", "", ",", "a b"]) {
        assert.equal(await asked(field), 421, field);
      }
    }).then(() =>
      served({ baseUrl: base, allowedHosts: [], trustProxy: ["10.0.0.1"] }, async (app) => {
        const field = "X-Forwarded-Host: api.example.org";
        assertProblem(await get(app, "/people", "10.1.2.3", field), "misdirected", base);
      }),
    ));

  it("may be in an absolute target, which overrides Host", () =>
    served({ baseUrl: base, allowedHosts: [] }, async (app) => {
      const answer = await ask(
        app,
        "GET http://evil.example/people HTTP/1.1",
        "Host: api.example.org",
      );
      assert.equal(answer.status, 421);
      const other = await ask(
        app,
        "GET http://api.example.org/people HTTP/1.1",
        "Host: evil.example",
      );
      assert.equal(other.status, 404);
    }));

  it("is accepted when there is neither base URL nor list, and rejected when there is a list", async () => {
    await served({}, async (app) => {
      assert.equal((await get(app, "/people", "anything.example")).status, 404);
    });
    await served({ allowedHosts: ["one.example"] }, async (app) => {
      assert.equal((await get(app, "/people", "one.example:8080")).status, 404);
      assertProblem(await get(app, "/people", "two.example"), "misdirected");
      assertProblem(await get(app, "/people", "localhost"), "misdirected");
    });
  });

  it("is 400, not 421, when it is not a valid host", () =>
    served({ baseUrl: base, allowedHosts: [] }, async (app) => {
      assertProblem(await get(app, "/-/health", "a/b"), "malformed-request", base);
    }));
});
