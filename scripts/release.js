// Makes everything that a release publishes in dist/release, and checks it: npm run release [-- --dry-run] [--only-this-system]
// It uploads nothing. With --dry-run, what only the owner of the names can add is listed, and no fault.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "dist/release");
const work = mkdtempSync(join(tmpdir(), "restante-release-"));
const { values: flags } = parseArgs({
  options: { "dry-run": { type: "boolean" }, "only-this-system": { type: "boolean" } },
});

const server = readJson("package.json");
const client = readJson("client/package.json");
const { version } = server;
const tarballs = [`restante-${version}.tgz`, `restante-client-${version}.tgz`];
const context = join(work, "context");
const systems = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "windows-x64"];
const thisSystem = `${process.platform.replace("win32", "windows")}-${process.arch}`;
const fileOf = (system) => `restante-${system}${system.startsWith("windows") ? ".exe" : ""}`;

/** What may be in each tarball, below `package/`. */
const own = /^(?:package\.json|README\.md|LICENSE)$/;
const allowed = {
  [tarballs[0]]: [
    own,
    /^CHANGELOG\.md$/,
    /^bin\/restante(?:\.js)?$/,
    /^templates\/(?:app|demo)\//,
    /^dist\/(?!console\/|bun\/).+\.(?:js|d\.ts)$/,
    /^dist\/console\/[\w.-]+\.(?:js|css|html|svg)$/,
    /^dist\/bun\/[\w-]+\.js(?:\.jsc)?$/,
    /^dist\/(?:package\.json|restante-client-[\d.]+\.tgz)$/,
  ],
  [tarballs[1]]: [own, /^dist\/.+\.(?:js|d\.ts)$/],
};
const needed = {
  [tarballs[0]]: [
    "bin/restante.js",
    "dist/index.d.ts",
    "dist/bun/main.js",
    "dist/console/index.html",
  ],
  [tarballs[1]]: Object.values(client.exports).flatMap((paths) => Object.values(paths)),
};

/** The folders of this machine, source maps, and secrets. */
const forbidden = [
  root.slice(0, -1),
  ...(homedir().length > 5 ? [homedir()] : []),
  /^\/\/# sourceMappingURL=/m,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n[\w+/]/,
  /\brst_[0-9A-Za-z]{49}\b/,
  /\b(?:npm_[0-9A-Za-z]{36}|gh[opsu]_[0-9A-Za-z]{36}|AKIA[0-9A-Z]{16})\b/,
];

/** What is added before publishing. */
const missing = [];
const faults = [];

process.on("exit", () => rmSync(work, { recursive: true, force: true }));
rmSync(join(root, "dist"), { recursive: true, force: true });
run("node", ["scripts/build.js"]);
mkdirSync(out, { recursive: true });
await step("versions agree, and the tag is free", checkVersions);
await step("the npm packages", makePackages);
await step("an installed server stores and returns", tryServer);
await step("the context of the image", makeContext);
await step("the steps of the Dockerfile", tryContext);
await step("the bill of materials", makeBill);
await step("the documentation", makeSite);
await step("the notes", makeNotes);
await step("the executables", makeExecutables);
await step("the checksums", checkSums);
report();

async function step(name, act) {
  try {
    await act();
    console.log(`good    ${name}`);
  } catch (error) {
    faults.push(`${name}: ${error.message}`);
    console.log(`FAILED  ${name}`);
  }
}

function checkVersions() {
  const lock = readJson("package-lock.json");
  const { dependencies } = readJson("templates/app/package.json");
  const others = {
    "client/package.json": client.version,
    "package-lock.json": lock.version,
    "package-lock.json, client": lock.packages.client.version,
    "templates/app/package.json": /-(.*)\.tgz$/.exec(dependencies.restante)?.[1],
  };
  for (const [file, other] of Object.entries(others))
    expect(other === version, `${file} has ${other}, package.json ${version}`);
  const tag = `v${version}`;
  const commitOf = (name) => run("git", ["rev-list", "-n", "1", name]).trim();
  if (run("git", ["tag", "--list", tag]).trim() !== "")
    expect(commitOf(tag) === commitOf("HEAD"), `the tag ${tag} is another commit`);
  else missing.push(`the tag ${tag}, which starts the workflow that publishes`);
  if (run("git", ["status", "--porcelain"]) !== "")
    missing.push("a commit: there are changes that none has");
  for (const [file, { repository }] of Object.entries({
    "package.json": server,
    "client/package.json": client,
  }))
    if (repository?.url === undefined)
      missing.push(`"repository" in ${file}: npm refuses a provenance without it`);
  expect(client.repository?.url === server.repository?.url, "the packages name two repositories");
}

function makePackages() {
  for (const [index, folder] of [root, join(root, "client")].entries()) {
    const name = tarballs[index];
    run("npm", ["pack", "--ignore-scripts", "--pack-destination", out], folder);
    run("tar", ["-xzf", join(out, name), "-C", work]);
    const files = filesIn(join(work, "package"));
    for (const file of files) {
      expect(
        allowed[name].some((pattern) => pattern.test(file)),
        `${name} has ${file}`,
      );
      const text = readFileSync(join(work, "package", file), "latin1");
      const found = forbidden.find((what) =>
        typeof what === "string" ? text.includes(what) : what.test(text),
      );
      expect(found === undefined, `${file} in ${name} has ${found}`);
    }
    for (const file of needed[name])
      expect(files.includes(file.replace("./", "")), `${name} has no ${file}`);
    rmSync(join(work, "package"), { recursive: true });
  }
}

async function tryServer() {
  const folder = join(work, "installed");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  run("npm", ["install", ...tarballs.map((name) => join(out, name))], folder);
  const program = join(folder, "node_modules/restante/bin/restante.js");
  const flags = ["serve", "--port", "0", "--host", "127.0.0.1", "--log-format", "json"];
  const child = spawn("node", [program, ...flags], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await urlOf(child);
    const token = readFileSync(join(folder, "data/admin-token"), "utf8").trim();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: "Ada" });
    const made = await fetch(`${url}/people`, { method: "POST", headers, body });
    expect(made.status === 201, `POST was ${made.status}`);
    const found = await fetch(new URL(made.headers.get("location"), url), { headers });
    expect((await found.json()).name === "Ada", "GET returned something else");
  } finally {
    child.kill();
  }
}

async function urlOf(child) {
  for await (const line of createInterface(child.stdout)) {
    const { msg, url } = line.startsWith("{") ? JSON.parse(line) : {};
    if (msg === "listening") return url;
  }
  throw new Error(`the server has ended: ${child.stderr.read()}`);
}

/** What the Dockerfile sees of this folder, and the Dockerfile: `docker build -f deploy/docker/Dockerfile - < file`. */
function makeContext() {
  const lines = readFileSync(join(root, "deploy/docker/Dockerfile.dockerignore"), "utf8").split(
    "\n",
  );
  const leftOut = lines.filter((line) => /^[^#!*]/.test(line)).map((line) => join(root, line));
  for (const [, path] of lines.join("\n").matchAll(/^!(.+)$/gm))
    cpSync(join(root, path), join(context, path), {
      ...{ recursive: true, filter: (source) => !leftOut.includes(source) },
    });
  cpSync(join(root, "deploy/docker/Dockerfile"), join(context, "deploy/docker/Dockerfile"));
  const file = join(out, `restante-${version}-image.tgz`);
  run("tar", ["-czf", file, "-C", context, ...readdirSync(context)]);
}

/** Does what the Dockerfile says, in folders: copies, and runs the commands of the first stage. */
function tryContext() {
  const text = readFileSync(join(context, "deploy/docker/Dockerfile"), "utf8");
  const [first, last] = text
    .replaceAll("\\\n", "")
    .split(/^FROM .*$/m)
    .slice(1);
  const [packages, image] = [join(work, "stage/packages"), join(work, "stage/image")];
  const programs = join(work, "stage/bin");
  mkdirSync(programs, { recursive: true });
  copyAll(first, context, packages);
  copyAll(last, context, image);
  // The commands find Bun where they have put it.
  const commands = /^RUN (.*)$/m.exec(first)?.[1].replaceAll("/usr/local/bin", programs);
  run("sh", ["-ec", commands], packages, { PATH: `${programs}:${process.env.PATH}` });
  for (const folder of ["node_modules", "dist"])
    cpSync(join(packages, folder), join(image, folder), { recursive: true });
  const shown = run(join(programs, "bun"), ["dist/bun/main.js", "--version"], image);
  expect(shown.trim() === version, `the image is ${shown}`);
  expect(existsSync(join(image, "dist/console/index.html")), "the image has no console");
}

/** The COPY lines of a stage, except those from another stage. */
function copyAll(stage, from, to) {
  for (const [, words] of stage.matchAll(/^COPY (?!--)(.+)$/gm)) {
    const sources = words.trim().split(/\s+/);
    const target = sources.pop();
    if (target.startsWith("/")) continue;
    for (const source of sources) {
      const isFolder = statSync(join(from, source)).isDirectory();
      const into = isFolder ? target : join(target, basename(source));
      cpSync(join(from, source), join(to, into), { recursive: true });
    }
  }
}

/** From the lock file, which names no registry. npm calls the packages of this repository by their folders. */
function makeBill() {
  const text = run("npm", ["sbom", "--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"]);
  const bill = JSON.parse(text);
  const all = [bill.metadata.component, ...bill.components];
  for (const one of all) one.name = one["bom-ref"].replace(/@[^@]*$/, "");
  const references = new Set(all.map((one) => one["bom-ref"]));
  for (const [name, wanted] of Object.entries({ restante: version, ...server.dependencies }))
    expect(references.has(`${name}@${wanted}`), `it lacks ${name} ${wanted}`);
  writeFileSync(join(out, `restante-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
}

function makeSite() {
  expect("docs:site" in server.scripts, "there is no script docs:site");
  run("npm", ["run", "docs:site"]);
  const files = filesIn(join(root, "dist/site"));
  for (const file of ["index.html", "llms.txt", "llms-full.txt"])
    expect(files.includes(file), `it has no ${file}`);
  run("tar", ["-czf", join(out, `restante-${version}-site.tgz`), "-C", join(root, "dist"), "site"]);
}

/** The section of the version. Before the release it is the one without a version. */
function makeNotes() {
  const sections = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## /m);
  const isReleased = (text) => text.split(/[\s,]/, 1)[0] === version;
  const notes =
    sections.find(isReleased) ??
    sections.find(
      (text) => text.startsWith("Unreleased\n") && text.includes(`becomes ${version}.`),
    );
  expect(notes !== undefined, `CHANGELOG.md has no section "## ${version}"`);
  if (!isReleased(notes))
    missing.push(`"## ${version}" and the date in CHANGELOG.md instead of "## Unreleased"`);
  const text = notes.slice(notes.indexOf("\n")).trim();
  expect(text.length > 100, "they are empty");
  writeFileSync(join(out, "notes.md"), `${text}\n`);
}

/** Also writes the checksums of all files. */
function makeExecutables() {
  const wanted = flags["only-this-system"] ? [thisSystem] : systems;
  const built = spawnSync("bun", ["scripts/executables.js", "--out", out, ...wanted], {
    ...{ cwd: root, encoding: "utf8" },
  });
  const left = systems.filter((system) => !existsSync(join(out, fileOf(system))));
  if (left.length > 0) missing.push(`the executables for ${left.join(", ")}`);
  const shown = run(join(out, fileOf(thisSystem)), ["--version"]);
  expect(shown.trim() === version, `the one for ${thisSystem} is ${shown}`);
  expect(built.status === 0, `${left.join(", ")} could not be built\n${built.stderr}`);
}

function checkSums() {
  const lines = readFileSync(join(out, "SHA256SUMS"), "utf8").trim().split("\n");
  const listed = lines.map((line) => line.split("  "));
  for (const [sum, file] of listed) {
    const found = createHash("sha256")
      .update(readFileSync(join(out, file)))
      .digest("hex");
    expect(found === sum, `${file} has another checksum`);
  }
  const files = readdirSync(out).filter((file) => file.startsWith("restante-"));
  const left = files.filter((file) => !listed.some(([, name]) => name === file));
  expect(left.length === 0, `SHA256SUMS lacks ${left.join(", ")}`);
}

function report() {
  console.log("\ndist/release");
  for (const file of readdirSync(out).sort())
    console.log(
      `  ${`${Math.ceil(statSync(join(out, file)).size / 1_000)}`.padStart(7)} kB  ${file}`,
    );
  if (missing.length > 0)
    console.log(["\nMissing before it is published:", ...missing].join("\n- "));
  if (faults.length > 0) console.log(["\nFaults:", ...faults].join("\n- "));
  process.exitCode = faults.length > 0 || (missing.length > 0 && !flags["dry-run"]) ? 1 : 0;
}

function expect(isSo, message) {
  if (!isSo) throw new Error(message);
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
}

/** Returns the output. Throws with it when the program fails. */
function run(program, args, cwd = root, env = {}) {
  const quiet = program === "npm" ? ["--loglevel=error", "--no-audit", "--no-fund"] : [];
  const { status, stdout, stderr, error } = spawnSync(program, [...args, ...quiet], {
    ...{ cwd, encoding: "utf8", env: { ...process.env, ...env }, maxBuffer: 1e8 },
  });
  if (status === 0) return stdout;
  throw new Error(
    `${program} ${args.join(" ")}: ${error?.message ?? `${stdout}${stderr}`.slice(-2_000)}`,
  );
}
