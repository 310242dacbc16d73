// The certificate of the server: every fault at start, and new files while it runs.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { CliError } from "../src/lib/cli-error.ts";
import { Tasks } from "../src/lib/tasks.ts";
import type { Certificate } from "../src/runtime/runtime.ts";
import { readCertificate } from "../src/server/certificate.ts";
import { CertificateFollower } from "../src/server/certificate-follower.ts";
import { defaultConfig } from "../src/server/config.ts";
import { certificateFolder, makeCertificate } from "./certificates.ts";
import fc from "./fast-check.ts";
import { captureLog } from "./http/captured-log.ts";
import { isBun } from "./runtime/test-server.ts";
import { runs } from "./seeds.ts";

const good = makeCertificate({ name: "good" });
const other = makeCertificate({ name: "other" });
const yesterday = new Date(Date.now() - 86_400_000);
const tomorrow = new Date(Date.now() + 86_400_000);
const expired = makeCertificate({ from: new Date(0), to: yesterday });
const early = makeCertificate({ from: tomorrow });

const short = makeCertificate({ keys: generateKeyPairSync("rsa", { modulusLength: 1024 }) });
const missing = (name: string) =>
  new RegExp(`^--tls-${name}: cannot be read: there is no such file or folder$`);

const encrypted = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" },
}).privateKey;

const damaged = good.cert.replace(/M(?=II)/, "A");

/** The faults, without the paths. */
function readFaults(certificate: Partial<Certificate>): readonly string[] {
  const { cert, key, remove } = certificateFolder(certificate);
  try {
    readCertificate({ ...defaultConfig, tlsCert: cert, tlsKey: key });
    return [];
  } catch (error) {
    assert(error instanceof CliError);
    assert.equal(error.code, 2);
    return error.message.replaceAll(/ "[^"]*"/g, "").split("\n");
  } finally {
    remove();
  }
}

describe("a certificate at start", () => {
  const table: readonly [string, Partial<Certificate>, readonly RegExp[]][] = [
    ["a good one", good, []],
    ["a chain", { cert: good.cert + other.cert, key: good.key }, []],
    ["missing files", {}, [missing("cert"), missing("key")]],
    ["a short key", short, isBun ? [] : [/^--tls-cert: cannot be used: its key is too short; use/]],
    ["a key of another one", { cert: good.cert, key: other.key }, [/^--tls-key: does not belong/]],
    ["an expired one", expired, [/^--tls-cert: expired on .* GMT; renew it$/]],
    ["one for later", early, [/^--tls-cert: is not valid before /]],
    ["no PEM", { cert: "x", key: "y" }, [/^--tls-cert: has no certificate/, /^--tls-key: has no/]],
    ["empty files", { cert: "", key: "" }, [/^--tls-cert: has no/, /^--tls-key: has no/]],
    ["the files swapped", { cert: good.key, key: good.cert }, [/cert: has no/, /key: has no/]],
    ["a damaged one", { cert: damaged, key: good.key }, [/^--tls-cert: .*damaged/]],
    ["a damaged issuer", { cert: good.cert + damaged, key: good.key }, [/^--tls-cert: .*damaged/]],
    ["an encrypted key", { cert: good.cert, key: encrypted }, [/^--tls-key: is encrypted/]],
    [
      "an expired one with the key of another one",
      { cert: expired.cert, key: good.key },
      [/^--tls-cert: expired/, /^--tls-key: does not belong/],
    ],
  ];
  for (const [name, certificate, expected] of table)
    it(`${name}: ${expected.length} faults`, () => {
      const faults = readFaults(certificate);
      assert.equal(faults.length, expected.length, faults.join("\n"));
      for (const [index, pattern] of expected.entries()) assert.match(faults[index] ?? "", pattern);
    });

  it("in a folder instead of a file is named so", () => {
    const folder = tmpdir();
    const config = { ...defaultConfig, tlsCert: folder, tlsKey: folder };
    assert.throws(
      () => readCertificate(config),
      /tls-cert "[^"]*": cannot be read: it is a folder/,
    );
  });

  it("never shows the key", () => {
    for (const key of [encrypted, other.key, good.key.slice(0, 120)])
      assert.doesNotMatch(readFaults({ cert: good.cert, key }).join(), /[\w+/]{40}/);
  });
});

describe("a certificate that changes on disk", () => {
  const folder = mkdtempSync(join(tmpdir(), "restante-tls-"));
  after(() => rmSync(folder, { recursive: true }));

  function follow(files: Certificate) {
    const used: string[] = [];
    const captured = captureLog();
    const checked = readCertificate({ ...defaultConfig, tlsCert: files.cert, tlsKey: files.key });
    assert(checked);
    let failures = 0;
    const replaceCertificate = ({ cert }: Certificate) => {
      if (failures-- > 0) throw new Error("no port");
      used.push(cert);
    };
    const fail = (times: number) => {
      failures = times;
    };
    const server = { replaceCertificate };
    const follower = new CertificateFollower(files, checked, server, captured.log, new Tasks());
    void follower.stop();
    return { follower, used, captured, fail };
  }

  it("is used when the key belongs to it, whichever is written first", async () => {
    const files = certificateFolder(good);
    const { follower, used, captured } = follow(files);
    for (const [one, two] of [
      [{ key: other.key }, { cert: other.cert }],
      [{ cert: good.cert }, { key: good.key }],
    ]) {
      files.write(one ?? {});
      await follower.look();
      const before = used.length;
      files.write(two ?? {});
      await follower.look();
      assert.equal(used.length, before + 1);
    }
    assert.deepEqual(used, [other.cert, good.cert]);
    await follower.look();
    assert.equal(used.length, 2);
    assert.doesNotMatch(captured.text(), /cannot be used/);
    files.remove();
  });

  it("is used when links are replaced, as certbot does", async () => {
    for (const [name, { cert, key }] of Object.entries({ 1: good, 2: other })) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "cert.pem"), cert);
      writeFileSync(join(folder, name, "key.pem"), key);
    }
    const live = join(folder, "live");
    symlinkSync("1", live);
    const { follower, used } = follow({ cert: join(live, "cert.pem"), key: join(live, "key.pem") });
    await follower.look();
    symlinkSync("2", join(folder, "new"));
    renameSync(join(folder, "new"), live);
    await follower.look();
    assert.deepEqual(used, [other.cert]);
    assert.ok(follower.expiresAt > Date.now());
  });

  it("is not used when it has a fault, which is logged once", async () => {
    for (const next of [expired, { cert: other.cert }, { key: encrypted }, { cert: damaged }]) {
      const files = certificateFolder(good);
      const { follower, used, captured } = follow(files);
      files.write(next);
      for (let looks = 0; looks < 4; looks++) await follower.look();
      assert.deepEqual(used, []);
      assert.equal(captured.lines().length, 1);
      assert.match(captured.text(), /the previous one is kept/);
      files.write(good);
      await follower.look();
      assert.deepEqual(used, []);
      files.write(other);
      await follower.look();
      assert.deepEqual(used, [other.cert]);
      files.remove();
    }
  });

  it("is used once when two looks find it, and later when it could not be used", async () => {
    const files = certificateFolder(good);
    const { follower, used, captured, fail } = follow(files);
    files.write(other);
    await Promise.all([follower.look(), follower.look()]);
    assert.deepEqual(used, [other.cert]);
    fail(2);
    files.write(good);
    for (let looks = 0; looks < 3; looks++) await follower.look();
    assert.match(captured.text(), /"reason":"no port".*the previous one is kept/);
    assert.deepEqual(used, [other.cert, good.cert]);
    files.remove();
  });

  it("stays when the files are gone", async () => {
    const files = certificateFolder(good);
    const { follower, used, captured } = follow(files);
    files.remove();
    await follower.look();
    await follower.look();
    assert.deepEqual(used, []);
    assert.match(captured.text(), /there is no such file/);
  });

  it("is only ever used with its own key, whatever is written in which order", async () => {
    const pairs = [good, other, makeCertificate(), expired];
    const write = fc.record({
      part: fc.constantFrom("cert", "key"),
      of: fc.nat(3),
      cut: fc.nat(9),
    });
    const property = fc.asyncProperty(fc.array(write, { maxLength: 12 }), async (writes) => {
      const files = certificateFolder(good);
      const { follower, used } = follow(files);
      let last = good;
      for (const { part, of, cut } of writes) {
        const text = pairs[of]?.[part as keyof Certificate] ?? "";
        // Some are read in the middle of a write.
        const written = cut === 0 ? text.slice(0, text.length / 2) : text;
        files.write({ [part]: written });
        last = { ...last, [part]: written };
        await follower.look();
        const match = pairs
          .slice(0, 3)
          .find(({ cert, key }) => cert === last.cert && key === last.key);
        if (match) assert.equal(used.at(-1) ?? good.cert, match.cert);
      }
      for (const cert of used) assert.ok(pairs.slice(0, 3).some((pair) => pair.cert === cert));
      files.remove();
    });
    await fc.assert(property, { numRuns: runs(30, 1_000) });
  });
});
