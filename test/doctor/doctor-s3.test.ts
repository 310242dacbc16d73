// The commands `doctor` and `erase` with files on S3: a file that is missing or damaged is found, an erased one is gone.
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { run, type ServerProcess, start } from "../process.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";

const admin = newSecret();
let s3: S3Server;
let folder: string;
let server: ServerProcess;
const ids: string[] = [];

const surroundings = () => ({
  cwd: folder,
  environment: { ...secrets, HOME: folder, RESTANTE_ADMIN_TOKEN: admin },
});
const place = () => ["--data", "data", "--files", s3.url("checked")];
const restante = (command: string, ...args: readonly string[]) =>
  run([command, ...place(), ...args], surroundings());

before(async () => {
  s3 = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await start(place(), surroundings());
  for (const content of ["one", "two", "six"]) {
    const body = new FormData();
    body.append("file", new Blob([content]), "a.txt");
    const headers = { authorization: `Bearer ${admin}` };
    const response = await fetch(`${server.url}/docs`, { method: "POST", headers, body });
    assert.equal(response.status, 201);
    ids.push(((await response.json()) as { id: string }).id);
  }
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

describe("files on S3", () => {
  it("are erased with their resource, beside a server", async () => {
    const id = ids[0] ?? "";
    const erased = await restante("erase", `/docs/${id}`);
    assert.equal(erased.code, 0, erased.stdout + erased.stderr);
    assert.match(erased.stdout, /^Erased 1 file /m);
    assert.equal((await s3.keys("checked/files/")).length, 2);
    assert.deepEqual(await s3.keys("checked/aside/"), []);
  });

  it("that are damaged or missing are found by doctor, beside a server", async () => {
    const sound = await restante("doctor");
    assert.equal(sound.code, 0, sound.stdout + sound.stderr);
    assert.match(sound.stdout, /^ok +files +The bytes of all files \(2\)/m);
    const [first = "", second = ""] = await s3.keys("checked/files/");
    await writeFile(s3.pathOf(first), "ONE");
    await rm(s3.pathOf(second));
    const found = await restante("doctor", "--json");
    assert.equal(found.code, 1, found.stderr);
    const { findings } = JSON.parse(found.stdout) as {
      findings: readonly { check: string; state: string; resource?: string }[];
    };
    const wrong = findings.filter(({ check, state }) => check === "files" && state === "error");
    const resources = wrong.map(({ resource }) => resource).toSorted();
    assert.deepEqual(
      resources,
      ids
        .slice(1)
        .map((id) => `/docs/${id}`)
        .toSorted(),
    );
  });
});
