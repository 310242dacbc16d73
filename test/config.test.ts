// The config: precedence of sources, allowed values, and errors that are reported all at once.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { newSecret } from "../src/model/secret.ts";
import {
  type Config,
  type ConfigError,
  type ConfigSources,
  defaultConfig,
  readConfig,
  type Setting,
  type SettingName,
  settings,
  unknownVariables,
} from "../src/server/config.ts";

import { settingsSchema } from "../src/server/settings-schema.ts";

const cwd = mkdtempSync(join(tmpdir(), "restante-config-"));
after(() => rmSync(cwd, { recursive: true }));

const file = (name: string, values: unknown): string => {
  const text = typeof values === "string" ? values : JSON.stringify(values);
  writeFileSync(join(cwd, name), text);
  return name;
};

const read = (sources: Partial<ConfigSources> = {}) =>
  readConfig({ flags: {}, environment: {}, cwd, ...sources });

function config(sources?: Partial<ConfigSources>): Config {
  const result = read(sources);
  assert(!Array.isArray(result), JSON.stringify(result));
  return result as Config;
}

/** Without what they were read from. */
const valuesOf = ({ givens: _, ...values }: Config) => values;

function errors(sources: Partial<ConfigSources>): readonly ConfigError[] {
  const result = read(sources);
  assert(Array.isArray(result), "no fault was found");
  return result;
}

describe("defaults", () => {
  it("listen on this machine only, store in ./data and trust no proxy", () => {
    assert.deepEqual(valuesOf(config()), {
      host: "localhost",
      port: 8080,
      data: join(cwd, "data"),
      baseUrl: undefined,
      allowedHosts: [],
      trustProxy: [],
      adminToken: undefined,
      corsOrigins: "*",
      console: "on",
      metricsPort: undefined,
      ...{ consolePort: undefined, public: undefined, apiPath: undefined },
      metricsHost: "localhost",
      logLevel: "info",
      logFormat: "auto",
      logSample: 1,
      tlsCert: undefined,
      tlsKey: undefined,
      ...{ otlpEndpoint: undefined, otlpHeaders: undefined, traceSample: 1 },
      maxBodyBytes: 1_048_576,
      maxUploadBytes: 2_147_483_648,
      maxUnfinishedBytes: 10_737_418_240,
      ...{ maxFileBytes: 0, maxResourceFileBytes: 0 },
      ...{ maxSubjectFileBytes: 0, maxTotalFileBytes: 0 },
      pictureCacheBytes: 1_073_741_824,
      maxInFlightBytes: 134_217_728,
      rateLimitPerAddress: 0,
      rateLimitPerToken: 0,
      queryDeadline: 10,
      maxCounted: 1_000_000,
      maxCascade: 1_000,
      keepRemovedDays: 30,
      keepKeysHours: 24,
      keepUploadsHours: 24,
      files: undefined,
      store: undefined,
      readStore: undefined,
      collections: undefined,
      actions: undefined,
      backupTo: undefined,
      backupEvery: 86_400_000,
      backupKeep: undefined,
      workers: 1,
    });
    assert.deepEqual({ ...valuesOf(defaultConfig), data: "" }, { ...valuesOf(config()), data: "" });
  });

  it("are frozen, lists too", () => {
    assert(Object.isFrozen(config()));
    assert(Object.isFrozen(config({ flags: { trustProxy: "::1" } }).trustProxy));
  });
});

describe("precedence", () => {
  const config1 = { port: 1, host: "file.test", logLevel: "error" };

  it("is flag, then variable, then file, then default", () => {
    const environment = { RESTANTE_PORT: "2", RESTANTE_HOST: "variable.test" };
    const flags = { config: file("precedence.json", config1), port: "3" };
    const { port, host, logLevel, maxBodyBytes } = config({ flags, environment });
    assert.deepEqual(
      [port, host, logLevel, maxBodyBytes],
      [3, "variable.test", "error", 1_048_576],
    );
  });

  it("treats an empty variable as not set", () => {
    assert.equal(config({ environment: { RESTANTE_PORT: "", RESTANTE_CONFIG: "" } }).port, 8080);
  });

  it("does not check values that are overridden", () => {
    const environment = { RESTANTE_PORT: "tcp://10.0.0.1:80" };
    assert.equal(config({ flags: { port: "9000" }, environment }).port, 9000);
  });
});

describe("the config file", () => {
  it("may be given by a variable", () => {
    const environment = { RESTANTE_CONFIG: file("variable.json", { port: 7 }) };
    assert.equal(config({ environment }).port, 7);
  });

  it("is ./restante.json by default", () => {
    file("restante.json", { port: 4 });
    try {
      assert.equal(config().port, 4);
    } finally {
      rmSync(join(cwd, "restante.json"));
    }
  });

  it("has numbers as numbers, lists as lists, and paths relative to its folder", () => {
    const folder = mkdtempSync(join(cwd, "elsewhere-"));
    const path = join(folder, "all.json");
    const adminToken = newSecret();
    const values = {
      ...{ host: "::1", port: 0, data: "here", baseUrl: "https://example.org/api/" },
      ...{ trustProxy: ["10.0.0.0/8", "::1"], adminToken, corsOrigins: ["https://a.test"] },
      ...{ logFormat: "text", logSample: 0.25 },
      tlsCert: "cert.pem",
      tlsKey: "key.pem",
      ...{ otlpEndpoint: "http://localhost:4318", otlpHeaders: "a=b", traceSample: 0.5 },
      ...{ logLevel: "warn", maxBodyBytes: 10, workers: 3, allowedHosts: ["api.internal"] },
      ...{ store: "postgres://db.test/people", readStore: "postgres://replica.test/people" },
      collections: "rules",
      ...{ files: "uploads", maxUploadBytes: 20, maxInFlightBytes: 33_554_432 },
      ...{ maxFileBytes: 12, maxResourceFileBytes: 13 },
      ...{ maxSubjectFileBytes: 14, maxTotalFileBytes: 15 },
      ...{ rateLimitPerAddress: 5, rateLimitPerToken: 6, keepRemovedDays: 7, keepKeysHours: 8 },
      ...{ pictureCacheBytes: 1_048_577 },
      ...{ queryDeadline: 9, maxCounted: 10, maxCascade: 11, actions: "handlers" },
      ...{ metricsPort: 9, metricsHost: "0.0.0.0", console: "off" },
      ...{ consolePort: 8, public: "/w", apiPath: "/v1" },
      ...{ keepUploadsHours: 12, maxUnfinishedBytes: 2_097_152 },
      ...{ backupTo: "kept", backupEvery: "6h", backupKeep: "7d" },
    };
    writeFileSync(path, JSON.stringify(values));
    assert.deepEqual(valuesOf(config({ flags: { config: path } })), {
      ...values,
      data: join(folder, "here"),
      collections: join(folder, "rules"),
      files: join(folder, "uploads"),
      actions: join(folder, "handlers"),
      ...{ tlsCert: join(folder, "cert.pem"), tlsKey: join(folder, "key.pem") },
      ...{ backupTo: join(folder, "kept"), backupEvery: 21_600_000, backupKeep: 604_800_000 },
      baseUrl: "https://example.org/api",
    });
  });

  const rejected: [string, unknown, RegExp, RegExp][] = [
    ["an unknown key", { zebra: 1 }, /^f\.json, "zebra"$/, /not a setting; there are host, port/],
    ["a misspelled key", { prot: 1 }, /^f\.json, "prot"$/, /not a setting; did you mean "port"\?$/],
    ["a flag", { "max-cascade": 1 }, /^f\.json, "max-cascade"$/, /did you mean "maxCascade"\?$/],
    ["a variable", { RESTANTE_HOST: "a" }, /^f\.json, "RESTANTE_HOST"$/, /mean "host"\?$/],
    ["a key twice", '{"port": 1, "port": 2}', /^--config "f\.json"$/, /more than once/],
    ["a key of Object", '{"__proto__": 1}', /^--config "f\.json"$/, /__proto__/],
    ["a value of the wrong type", { port: true }, /^f\.json, "port" true$/, /must be a whole/],
    ["null", { data: null }, /^f\.json, "data" null$/, /must be the path/],
    ["a list of other things", { trustProxy: [1] }, /^f\.json, "trustProxy" \[1\]$/, /IP addr/],
    ["no object", [], /^--config "f\.json"$/, /must hold a JSON object/],
    ["broken JSON", '{\n"port": 1,,', /^--config "f\.json"$/, /used: .*JSON at line 2, column 11/],
  ];
  for (const [what, values, where, detail] of rejected)
    it(`is rejected with ${what}`, () => {
      const [error, ...others] = errors({ flags: { config: file("f.json", values) } });
      assert.match(error?.where ?? "", where);
      assert.match(error?.detail ?? "", detail);
      assert.deepEqual(others, []);
    });

  it("must exist when it is configured", () => {
    const [error] = errors({ environment: { RESTANTE_CONFIG: "missing.json" } });
    assert.equal(error?.where, 'RESTANTE_CONFIG "missing.json"');
    assert.match(error?.detail ?? "", /no such file/);
  });
});

describe("values", () => {
  const secret = newSecret();
  const databases: [string, string][] = [
    "postgres://db.test/people",
    "postgresql://me:p%40ss@[::1]:5433/people?sslmode=verify-full",
  ].map((url) => [url, url]);
  const notDatabases = [
    "mysql://me:hunter2@db.test/people",
    "me:hunter2@db.test",
    "postgres://me:hunter2@one.test,two.test/people",
    "postgres://one.test:5432,two.test:5432/people",
    "./data",
    "5432",
  ];
  const table: Record<SettingName, { allowed: [string, unknown][]; rejected: string[] }> = {
    host: {
      allowed: ["localhost", "0.0.0.0", "::", "api.example.org"].map((host) => [host, host]),
      rejected: ["[::1]", "a b", "http://a", "a:80", "-a", "a".repeat(254)],
    },
    port: {
      allowed: [
        ["0", 0],
        ["65535", 65535],
      ],
      rejected: ["65536", "-1", "1.5", "1e3", "0x10", "80 ", "eighty"],
    },
    data: { allowed: [["/x/../y", "/y"]], rejected: ["a\0b"] },
    collections: { allowed: [["/x/../y", "/y"]], rejected: ["a\0b"] },
    actions: { allowed: [["/x/../y", "/y"]], rejected: ["a\0b"] },
    tlsCert: { allowed: [["/x/../y.pem", "/y.pem"]], rejected: ["a\0b"] },
    otlpEndpoint: {
      allowed: [["http://localhost:4318/", "http://localhost:4318"]],
      rejected: ["localhost:4318", "grpc://a", "http://u:p@a"],
    },
    otlpHeaders: { allowed: [["a=b, x-key=c%20d", "a=b, x-key=c%20d"]], rejected: ["a", "a=%zz"] },
    traceSample: {
      allowed: [
        ["0", 0],
        ["0.05", 0.05],
        ["1", 1],
      ],
      rejected: ["1.1", "-1", "half", "1e-3"],
    },
    console: { allowed: [["off", "off"]], rejected: ["yes", "ON"] },
    consolePort: {
      allowed: [
        ["0", 0],
        ["8081", 8081],
      ],
      rejected: ["65536", "-1", "x"],
    },
    public: { allowed: [["/x/../y", "/y"]], rejected: ["a\0b"] },
    apiPath: {
      allowed: ["/api", "/v1/api", "/my_api-2"].map((path) => [path, path]),
      rejected: ["/", "api", "/api/", "//api", "/a/../b", "/a.b", "/a b", "/%61"],
    },
    tlsKey: { allowed: [["/x/../y.pem", "/y.pem"]], rejected: ["a\0b"] },
    baseUrl: {
      allowed: [
        ["https://example.org", "https://example.org"],
        ["HTTP://Example.org:80/", "http://example.org"],
        ["https://example.org/a/b//", "https://example.org/a/b"],
      ],
      rejected: [
        ...["example.org", "/api", "ftp://a", "https:a", "https://", "https://a b", "https://a\\b"],
        ...[
          "https://u:p@a",
          "https://@a",
          "https://a?",
          "https://a?b=c",
          "https://a#",
          "http://a:0x",
        ],
      ],
    },
    allowedHosts: {
      allowed: [
        ["*", ["*"]],
        ["a.example, A.example:80 ,[::1]:8080", ["a.example", "A.example:80", "[::1]:8080"]],
      ],
      rejected: ["a b", "http://a", "a/b", "a:99999", "a:x", "::1", "a,,b", "[::1", "a@b"],
    },
    trustProxy: {
      allowed: [["127.0.0.1, 10.0.0.0/8 ,fd00::/8", ["127.0.0.1", "10.0.0.0/8", "fd00::/8"]]],
      rejected: [
        "10.0.0.0/33",
        "::1/129",
        "10.0.0.0/",
        "10.0.0/8",
        "localhost",
        "::1,",
        "fe80::1%1",
        "::/0/0",
      ],
    },
    adminToken: {
      allowed: [[secret, secret]],
      rejected: ["admin", `${secret}x`, secret.slice(0, -1)],
    },
    metricsPort: {
      allowed: [
        ["0", 0],
        ["9100", 9100],
      ],
      rejected: ["65536", "-1", "x"],
    },
    metricsHost: {
      allowed: [
        ["::1", "::1"],
        ["localhost", "localhost"],
      ],
      rejected: ["a b", "[::1]"],
    },
    corsOrigins: {
      allowed: [
        ["*", "*"],
        ["none", []],
        ["https://a.test,http://localhost:5173", ["https://a.test", "http://localhost:5173"]],
        ["capacitor://localhost", ["capacitor://localhost"]],
      ],
      rejected: [
        "https://a.test/",
        "https://A.test",
        "https://a.test:443",
        "a.test",
        "null",
        "*,*",
      ],
    },
    logLevel: { allowed: [["silent", "silent"]], rejected: ["INFO", "debug"] },
    logFormat: { allowed: [["text", "text"]], rejected: ["TEXT", "pretty"] },
    logSample: {
      allowed: [
        ["0", 0],
        ["0.25", 0.25],
        ["1.0", 1],
      ],
      rejected: ["-0.1", "1.1", "2", "10%", ".5", "1e-3", "0.5 "],
    },
    maxBodyBytes: { allowed: [["1", 1]], rejected: ["0", "268435457", "1MB"] },
    maxUploadBytes: {
      allowed: [["1099511627776", 2 ** 40]],
      rejected: ["0", "1099511627777", "1G"],
    },
    maxFileBytes: { allowed: [["0", 0]], rejected: ["-1", "1GB"] },
    maxResourceFileBytes: { allowed: [["1", 1]], rejected: ["1.5", "all"] },
    maxSubjectFileBytes: { allowed: [["10", 10]], rejected: ["-1", "none"] },
    maxTotalFileBytes: {
      allowed: [["999999999999999", 999_999_999_999_999]],
      rejected: ["1000000000000000", "1TB"],
    },
    pictureCacheBytes: {
      allowed: [["1048576", 1_048_576]],
      rejected: ["0", "1048575", "1099511627777", "1G"],
    },
    maxInFlightBytes: {
      allowed: [["16777216", 2 ** 24]],
      rejected: ["0", "16777215", "1099511627777", "256MB"],
    },
    rateLimitPerAddress: { allowed: [["0", 0]], rejected: ["-1", "1000001", "1/s"] },
    rateLimitPerToken: { allowed: [["600", 600]], rejected: ["-1", "1000001", "none"] },
    queryDeadline: { allowed: [["100", 100]], rejected: ["0", "101", "0.5", "10s"] },
    backupTo: { allowed: [["/x/y", "/x/y"]], rejected: ["a\0b", "b.tar.zst", "s3:/a"] },
    backupEvery: { allowed: [["1m", 60_000]], rejected: ["0", "59s", "6", "6 h", "3651d"] },
    backupKeep: { allowed: [["7d", 604_800_000]], rejected: ["0d", "1w", "soon"] },
    maxCascade: { allowed: [["0", 0]], rejected: ["-1", "10001", "all"] },
    maxCounted: { allowed: [["1000000000", 1_000_000_000]], rejected: ["0", "1000000001", "1M"] },
    keepRemovedDays: { allowed: [["1", 1]], rejected: ["0", "36501", "1d"] },
    keepKeysHours: { allowed: [["8760", 8_760]], rejected: ["0", "8761", "24h"] },
    keepUploadsHours: { allowed: [["8760", 8_760]], rejected: ["0", "8761", "24h"] },
    maxUnfinishedBytes: { allowed: [["1048576", 1_048_576]], rejected: ["0", "1048575", "1G"] },
    files: {
      allowed: [
        ["/x/../y", "/y"],
        ["s3://photos/a?region=eu-west-1", "s3://photos/a?region=eu-west-1"],
        ["/srv/s3:/photos", "/srv/s3:/photos"],
      ],
      rejected: [
        "a\0b",
        "s3://photos?regoin=x",
        "s3://key:secret@photos",
        "https://photos.example",
        ...["s3:/photos/a", "s3:photos", "S3:/photos", "S3://photos"],
      ],
    },
    store: { allowed: databases, rejected: notDatabases },
    readStore: { allowed: databases, rejected: notDatabases },
    workers: {
      allowed: [
        ["1", 1],
        ["256", 256],
        ["auto", availableParallelism()],
      ],
      rejected: ["0", "257", "-1", "1.5", "Auto", "two"],
    },
  };
  const fitsSchema = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(settingsSchema());
  it("have a schema that knows no other names", () => {
    assert.equal(fitsSchema({ prot: 1 }), false);
    assert.equal(fitsSchema({ logLevel: "loud" }), false);
  });

  /** Other settings that a setting needs. */
  const besideConfig = { RESTANTE_STORE: "postgres://db.test/people" };

  for (const [name, { allowed, rejected }] of Object.entries(table)) {
    const { variable } = settings[name as SettingName];
    for (const [text, value] of allowed)
      it(`${name} may be ${JSON.stringify(text).slice(0, 60)}`, () => {
        const result: Record<string, unknown> = {
          ...config({ environment: { ...besideConfig, [variable]: text } }),
        };
        assert.deepEqual(result[name], value);
        const { type } = settings[name as SettingName];
        const inFile = type === "number" && text !== "auto" ? Number(text) : text;
        const flags = { config: file("each.json", { [name]: inFile }) };
        const same: Record<string, unknown> = { ...config({ flags, environment: besideConfig }) };
        assert.ok(fitsSchema({ $schema: "x", [name]: inFile }), JSON.stringify(fitsSchema.errors));
        assert.deepEqual(same[name], name === "store" ? besideConfig.RESTANTE_STORE : value);
      });
    for (const text of rejected)
      it(`${name} may not be ${JSON.stringify(text).slice(0, 60)}`, () => {
        const [error, ...others] = errors({ environment: { ...besideConfig, [variable]: text } });
        assert(error?.where.startsWith(variable));
        assert.equal(error?.detail, `must be ${settings[name as SettingName].allowed}`);
        assert.deepEqual(others, []);
      });
  }
});

describe("errors", () => {
  it("are reported all at once, each with its name", () => {
    const flags = {
      port: "x",
      host: true,
      config: file("g.json", { maxBodyBytes: 0, nope: 1 }),
    } as const;
    const environment = { RESTANTE_LOG_LEVEL: "loud", RESTANTE_BASE_URL: "nowhere" };
    const where = errors({ flags, environment }).map((error) => error.where);
    assert.deepEqual(where, [
      'g.json, "nope"',
      "--host",
      '--port "x"',
      'RESTANTE_BASE_URL "nowhere"',
      'RESTANTE_LOG_LEVEL "loud"',
      'g.json, "maxBodyBytes" 0',
    ]);
  });

  it("say that a flag has no value", () => {
    assert.match(errors({ flags: { config: true } })[0]?.detail ?? "", /needs a value/);
    assert.match(errors({ flags: { port: true } })[0]?.detail ?? "", /needs a value/);
  });

  const privates = Object.entries<Setting<unknown>>(settings).filter(([, each]) => each.isPrivate);
  for (const [name, { flag, variable }] of privates)
    it(`never repeat what may be a secret: ${name}`, () => {
      const wrong = "rst_wrong://me:hunter2@db.test";
      const sources = [
        { environment: { [variable]: wrong } },
        { flags: { config: file("private.json", { [name]: wrong }) } },
        ...(flag === undefined ? [] : [{ flags: { [name]: wrong } }]),
      ];
      for (const source of sources) {
        const reported = errors(source);
        assert.match(reported[0]?.detail ?? "", /^must be /);
        assert.doesNotMatch(JSON.stringify(reported), /wrong|hunter2|db\.test/);
      }
    });

  it("report a replica without a database", () => {
    const reported = errors({
      environment: { RESTANTE_READ_STORE: "postgres://replica.test/people" },
    });
    assert.deepEqual(reported, [
      { where: "--read-store", detail: "needs --store, the database that it is a replica of" },
    ]);
  });

  it("name a variable that is nearly that of a setting, and no other", () => {
    const set = (names: string) => Object.fromEntries(names.split(" ").map((name) => [name, "x"]));
    const others = "RESTANTE_PORT RESTANTE_CONFIG RESTANTE_SERVICE_HOST RESTANTE_PORT_80_TCP PROT";
    assert.deepEqual(unknownVariables(set(others)), []);
    assert.deepEqual(unknownVariables(set("RESTANTE_PROT RESTANTE_CONFG")), [
      { where: "RESTANTE_PROT", detail: "is not a setting; did you mean RESTANTE_PORT?" },
      { where: "RESTANTE_CONFG", detail: "is not a setting; did you mean RESTANTE_CONFIG?" },
    ]);
  });

  it("are not reported for unknown flags", () => {
    assert.equal(config({ flags: { adminToken: newSecret() } }).adminToken, undefined);
  });
});
