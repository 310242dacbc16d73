// The command line: real processes, signals and exit codes.
// @runtimes both
// @process own

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { isSecret, newSecret, secretPattern } from "../src/model/secret.ts";
import { settings } from "../src/server/config.ts";
import {
  commandLine,
  firstToken,
  run,
  type ServerProcess,
  sourceCommandLine,
  start,
} from "./process.ts";
import { newSeed } from "./seeds.ts";
import { describeOn, itLong, runsOn } from "./short-run.ts";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-main-"));
  await mkdir(join(cwd, "empty"));
});
after(() => rm(cwd, { recursive: true }));

const people = (url: string, token: string, init: RequestInit = {}, path = "/people") =>
  fetch(url + path, {
    ...init,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });

const ada = { method: "POST", body: '{"name":"Ada","email":"ada@example.org"}' };

async function stop(running: ServerProcess): Promise<void> {
  running.signal("SIGTERM");
  assert.equal((await running.ended).code, 0);
}

describeOn("bun", "help and version", () => {
  const commands = [
    "",
    "serve",
    "token",
    "token create",
    "token list",
    "token revoke",
    "token secret",
    "access test",
    "export",
    "import",
  ];
  for (const command of commands)
    it(`restante ${command} --help`, async () => {
      const words = command.split(" ").filter((word) => word !== "");
      const { code, stdout, stderr } = await run([...words, "--help"], { cwd });
      assert.deepEqual([code, stderr], [0, ""]);
      assert(stdout.startsWith(["Usage: restante", ...words].join(" ")));
      assert.doesNotMatch(stdout, /default: (?:""|\[\])/);
    });

  it("the help of serve lists every setting", async () => {
    const { stdout } = await run(["serve", "--help"], { cwd });
    for (const { flag, variable, placeholder } of Object.values(settings)) {
      assert(stdout.includes(variable), variable);
      if (flag !== undefined) assert(stdout.includes(`${flag} <${placeholder}>`), flag);
    }
  });

  it("a reader that stops early causes no error", () => {
    const command = `${commandLine.join(" ")} serve --help | true`;
    assert.equal(spawnSync("sh", ["-c", command], { encoding: "utf8" }).stderr, "");
  });

  it("the version is that of the package", async () => {
    const { version } = JSON.parse(
      readFileSync(new URL("../package.json", import.meta.url), "utf8"),
    );
    const { code, stdout } = await run(["--version"], { cwd });
    assert.deepEqual([code, stdout], [0, `${version}\n`]);
  });
});

describeOn("bun", "usage errors are reported with exit code 2", () => {
  const cases: readonly [args: string, environment: Record<string, string>, reported: RegExp[]][] =
    [
      ["", {}, [/Usage: restante/]],
      ["srve", {}, [/unknown command 'srve'/, /Did you mean serve/]],
      ["token", {}, [/Usage: restante token/]],
      ["token revoke", {}, [/missing required argument 'id'/]],
      ["token list --dta x", {}, [/unknown option '--dta'/]],
      ["serve --trust-proxy ::1 --trust-proxy x", {}, [/^--trust-proxy "::1,x": must be IP/m]],
      ['serve --config ""', {}, [/^--config: needs a value; it must be the path of a JSON file$/m]],
      ["serve --config .", {}, [/^--config ".": cannot be used: it is a folder$/m]],
      ["docs impotr", {}, [/^There is no page impotr\. Did you mean import\?$/m]],
      ["serve stray", {}, [/^stray: is unknown to restante serve$/m]],
      [
        "serve --workers 0 --store mysql://me:hunter2@db.test/people",
        {},
        [/^--workers "0": must be a whole number/m, /^--store: must be a URL such as postgres:/m],
      ],
      [
        "serve --prot 9 --port x --host --speed=2 --config nope.json",
        { RESTANTE_LOG_LEVEL: "loud", RESTANTE_ADMIN_TOKEN: "rst_wrong" },
        [
          /^--prot: is unknown to restante serve; did you mean --port\?$/m,
          /^--speed=2: is unknown to restante serve$/m,
          /^--port "x": must be a whole number/m,
          /^--host: needs a value/m,
          /^--config "nope.json": cannot be used: there is no such file or folder$/m,
          /^RESTANTE_LOG_LEVEL "loud": must be info, warn/m,
          /^RESTANTE_ADMIN_TOKEN: must be a secret/m,
        ],
      ],
      [
        "token create --scope people:fly --expires 2001-01-01 --data empty",
        {},
        [/^--name: /m, /^--scope: "people:fly" is not a scope/m, /^--expires: .*future/m],
      ],
      [
        "token create --name x --scope admin --expires soon --data empty",
        {},
        [/^--expires "soon": must be/m],
      ],
      ...["2030-02-31", "2030-01-31T12:00", "99999999d", "9999999d"].map(
        (time): (typeof cases)[number] => [
          `token create --name x --scope admin --expires ${time} --data missing`,
          {},
          [/^--expires ".*": must be/m],
        ],
      ),
      ["restore --from x --at 5", {}, [/^--at "5": must be a time/m]],
      ["restore --from x --at 2030-02-31T12:00:00Z", {}, [/^--at "2030-.*": must be a time/m]],
      ['export --to ""', {}, [/^--to: needs a value$/m]],
      ['copy --from= --to ""', {}, [/^--from: needs a value$/m, /^--to: needs a value$/m]],
      ['restore --from x --collection a ""', {}, [/^--collection: needs a value$/m]],
      ['erase /people/a ""', {}, [/^paths: needs a value$/m]],
      ['new ""', {}, [/^folder: needs a value$/m]],
      ['import "" --collection ""', {}, [/^--collection: needs a value$/m, /^path: needs/m]],
      [
        "import - --collection a --key b --format csv --types x --separator ;",
        {},
        [/^--types x: has another value/m, /^--separator ;: has another/m],
      ],
      [
        "import - --collection a --key b --encoding latin1",
        {},
        [/^--encoding latin1: is for CSV/m],
      ],
      ["settings --tls-cert x --json", {}, [/^--tls-cert, --tls-key: set both or none$/m]],
      ["backup --to --json", {}, [/^--to: needs a value$/m]],
      ["token create --scope admin --name --data", {}, [/^--name: needs a value$/m]],
    ];
  for (const [args, environment, reported] of cases)
    it(`restante ${args}`, async () => {
      const words = args.split(" ").filter((word) => word !== "");
      const values = words.map((word) => word.replace('""', ""));
      const { code, stdout, stderr } = await run(values, { cwd, environment });
      for (const pattern of reported) assert.match(stderr, pattern);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.doesNotMatch(stderr, /^\s+at .*:\d+|rst_wrong|hunter2/m);
    });

  it("and leave nothing behind", () => {
    assert(!existsSync(join(cwd, "data")));
  });
});

describeOn("bun", "failures are reported in one line, with exit code 1", () => {
  it("a port in use; the first admin token is created by the start that succeeds", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const port = String(typeof address === "object" ? address?.port : address);
    const args = ["serve", "--host", "127.0.0.1", "--port", port, "--data", "taken"];
    const { code, stderr } = await run(args, { cwd });
    holder.close();
    assert.match(stderr, new RegExp(`^Port ${port} on 127.0.0.1 is in use.*\n$`));
    assert.equal(code, 1);
    assert(!existsSync(join(cwd, "taken", "admin-token")));
    const running = await start(["--data", "taken"], { cwd });
    assert.equal((await people(running.url, firstToken(running), ada)).status, 201);
    await stop(running);
  });

  it("a port of the metrics in use", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const port = String(typeof address === "object" ? address?.port : address);
    const metrics = ["--metrics-host", "127.0.0.1", "--metrics-port", port];
    const { code, stderr } = await run(["serve", "--port", "0", ...metrics], { cwd });
    holder.close();
    assert.match(stderr, new RegExp(`^Cannot serve the metrics on port ${port} .*\n$`));
    assert.equal(code, 1);
  });

  it("a data folder that cannot be created", async () => {
    writeFileSync(join(cwd, "file"), "");
    const { code, stderr } = await run(["serve", "--data", "file"], { cwd });
    assert.match(stderr, /^Cannot open the store in \S+file: .+\n$/);
    assert.equal(code, 1);
  });

  it("a database that cannot be reached, without its password", async () => {
    const environment = { RESTANTE_STORE: "postgres://me:hunter2@127.0.0.1:1/people" };
    for (const command of ["serve", "token list"]) {
      const { code, stderr } = await run(command.split(" "), { cwd, environment });
      assert.match(stderr, /^Cannot open the store in postgres:\/\/127.0.0.1:1\/people: .+\n$/);
      assert.doesNotMatch(stderr, /hunter2/);
      assert.equal(code, 1);
    }
  });

  it("a store that does not exist, which listing tokens does not create", async () => {
    const { code, stderr } = await run(["token", "list", "--data", "missing"], { cwd });
    assert.match(stderr, /^There is no store in \S+missing\. .+\n$/);
    assert.equal(code, 1);
    assert(!existsSync(join(cwd, "missing")));
  });

  it("a token that does not exist", async () => {
    const { code, stderr } = await run(["token", "revoke", "nobody", "--data", "taken"], { cwd });
    assert.match(stderr, /^There is no token .*nobody.*\n$/);
    assert.equal(code, 1);
  });
});

describe("serve", () => {
  it("writes the first admin token to a file; a second start loses nothing, and logs JSON lines", async () => {
    const first = await start(["--data", "kept"], { cwd });
    const token = firstToken(first);
    assert(isSecret(token));
    assert.equal(statSync(join(cwd, "kept", "admin-token")).mode & 0o777, 0o600);
    assert.equal(first.stderr().split("\n").length, 2);
    const created = await people(first.url, token, ada);
    const location = created.headers.get("location") ?? "";
    const text = await created.text();
    assert.equal(created.status, 201);
    await stop(first);
    assert.doesNotMatch(first.stdout() + first.stderr(), secretPattern);

    const second = await start(["--data", "kept"], { cwd });
    const found = await people(second.url, token, {}, location);
    assert.deepEqual([found.status, await found.text()], [200, text]);
    assert.equal(second.stderr(), "");
    await stop(second);
    const lines = second.stdout().trimEnd().split("\n");
    // The line of a request has no message.
    const messages = lines.map((line) => JSON.parse(line).msg).filter((text) => text !== undefined);
    assert.deepEqual(messages, ["listening", "draining", "stopped"]);
  });

  it("runs from the sources, as it does in the other tests from a bundle of them", async () => {
    const running = await start(["--data", "sources"], { cwd, command: sourceCommandLine });
    assert.equal((await people(running.url, firstToken(running), ada)).status, 201);
    await stop(running);
  });

  const itOnBun = runsOn("bun") ? it : itLong;

  itOnBun("has written the first token when it is ready", async () => {
    // The port is known before the server listens. Linux chooses none of these for other servers.
    const port = 20_000 + (newSeed("the port of a server that starts") % 10_000);
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
    const [program, ...before] = commandLine;
    const args = [...before, "serve", "--host", "127.0.0.1", "--port", `${port}`, "--data", "soon"];
    const server = spawn(program, args, { cwd, stdio: "ignore" });
    const ended = once(server, "exit");
    // Without pauses, because the time between the two is short.
    while (server.exitCode === null && !(await isReady()));
    assert(existsSync(join(cwd, "soon", "admin-token")));
    server.kill("SIGTERM");
    await ended;
  });

  it("keeps the first token when a folder has the name of its file", async () => {
    await mkdir(join(cwd, "blocked", "admin-token"), { recursive: true });
    const running = await start(["--data", "blocked"], { cwd });
    assert.equal((await people(running.url, firstToken(running), ada)).status, 201);
    await stop(running);
  });

  it("uses RESTANTE_ADMIN_TOKEN as the first token and never shows it", async () => {
    const secret = newSecret();
    const environment = { RESTANTE_ADMIN_TOKEN: secret, RESTANTE_DATA: "given" };
    const running = await start([], { cwd, environment });
    assert.equal((await people(running.url, secret, ada)).status, 201);
    await stop(running);
    assert(!(running.stdout() + running.stderr()).includes(secret));
  });
});

describeOn("bun", "on a terminal", () => {
  const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
  // A pseudo-terminal comes from util-linux's script; elsewhere script takes other arguments.
  const isAble = has("script", "--version") && has("curl", "--version");
  const skip = isAble ? false : "curl and util-linux's script are needed";
  const shells = ["sh", "bash", "zsh"].filter((shell) => has(shell, "-c", "true"));

  /** What the greeting shows, in the end without colours; the process ends with the test. */
  async function bannerText(act: (text: string) => void): Promise<void> {
    // The commands that it shows run bin/, which a bundle does not have.
    const command = `exec ${sourceCommandLine.join(" ")} serve --port 0 --data "greeted here"`;
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, TERM: "xterm" };
    const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, env, stdio: "pipe" });
    let text = "";
    for await (const chunk of child.stdout) {
      text += stripVTControlCharacters(String(chunk)).replaceAll("\r", "");
      if (/List all people:[\s\S]*-w '\\n'\n/.test(text)) break;
    }
    try {
      act(text);
    } finally {
      const ended = once(child, "close");
      child.kill();
      await ended;
    }
  }

  const paste = (shell: string, commands: readonly string[]) =>
    spawnSync(shell, ["-c", commands.join("\n")], { cwd, encoding: "utf8" });

  const commandsIn = (text: string): readonly string[] =>
    text.split(/\n\s*\n/).filter((section) => section.includes("curl "));

  it("serve shows three commands that work as written", { skip }, () =>
    bannerText((text) => {
      assert.match(text, /data +\.\/greeted here\n/);
      assert.match(text, /admin token +rst_\w+\n +It is shown only once/);
      assert.match(
        text,
        /console +http:\S+\/-\/console#code=rsc_\w+\n +Opens the console signed in/,
      );
      assert.equal(commandsIn(text).length, 3);
      shells.forEach((shell, index) => {
        const { stdout, stderr } = paste(shell, commandsIn(text));
        const [posted = "", got = "", listed = ""] = stdout.split(/\n(?=HTTP|\{"data")/);
        assert.match(posted, /^HTTP\/1.1 201 [\s\S]*"email":"ada@example.org"/, shell);
        assert.match(got, /^HTTP\/1.1 200 [\s\S]*"email":"ada@example.org"/, shell);
        assert.match(listed, new RegExp(`"total":${index + 1},`), shell);
        assert.equal(stderr, "");
      });
    }),
  );

  it("a later start shows how to create a token, and the commands use it", { skip }, () =>
    bannerText((text) => {
      assert.doesNotMatch(text, secretPattern);
      assert.match(text, /sign in +\S+ console --data '\.\/greeted here'\n/);
      const making = /TOKEN=\$\(.*\)$/m.exec(text)?.[0] ?? assert.fail(text);
      const { stdout } = paste("sh", [making, ...commandsIn(text)]);
      assert.match(stdout, /^HTTP\/1.1 201 /);
      assert.match(stdout, new RegExp(`"total":${shells.length + 1},`));
    }),
  );
});

describeOn("bun", "tokens at the command line", () => {
  let running: ServerProcess;
  const token = (...args: string[]) => run(["token", ...args, "--data", "desk"], { cwd });
  before(async () => {
    running = await start(["--data", "desk"], { cwd });
    assert.equal((await people(running.url, firstToken(running), ada)).status, 201);
  });
  after(() => stop(running));

  it("work on a running server immediately, and are rejected as soon as they are revoked", async () => {
    const made = await token("create", "--name", "ci", "--scope", "people:read", "--expires", "1h");
    const secret = made.stdout.trimEnd();
    assert.equal(made.code, 0);
    assert(isSecret(secret));
    assert.equal((await people(running.url, secret)).status, 200);
    assert.equal((await people(running.url, secret, ada)).status, 403);

    const listed = await token("list");
    const row = listed.stdout.split("\n").find((line) => line.includes("  ci  ")) ?? "";
    assert.match(row, /people:read .* never +alive$|people:read .* alive$/);
    assert.doesNotMatch(listed.stdout, secretPattern);

    const [id = ""] = row.split(" ");
    assert.equal((await token("revoke", id)).code, 0);
    assert.equal((await people(running.url, secret)).status, 401);
    assert.match((await token("list")).stdout, new RegExp(`^${id} .* revoked$`, "m"));
  });

  for (const scopes of [
    ["--scope", "people:read", "people:create"],
    ["--scope", "people:read,people:create"],
    ["--scope", "people:read, people:create", "--scope", "cats:*"],
  ])
    it(`may have several scopes: ${scopes.join(" ")}`, async () => {
      const made = await token("create", "--name", "two", ...scopes);
      const secret = made.stdout.trimEnd();
      assert.equal((await people(running.url, secret, ada)).status, 201);
    });

  it("may have roles instead of scopes, which the access document gives", async () => {
    const made = await token("create", "--name", "by role", "--role", "a,b", "--role", "c");
    assert.equal(made.code, 0, made.stderr);
    const secret = made.stdout.trimEnd();
    assert.equal((await people(running.url, secret)).status, 403);
    const put = await fetch(`${running.url}/-/access`, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${firstToken(running)}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ roles: { c: ["people:read"] } }),
    });
    assert.equal(put.status, 200);
    assert.equal((await people(running.url, secret)).status, 200);
    assert.match((await token("list")).stdout, / by role +- +- +a b c {2}/);
  });

  it("needs a scope or a role, both well-formed", async () => {
    const none = await token("create", "--name", "none");
    assert.deepEqual([none.code, none.stdout], [2, ""]);
    assert.match(none.stderr, /^--scope: must have at least 1 item, unless the token has roles$/m);
    const malformed = await token("create", "--name", "x", "--role", "Editor");
    assert.equal(malformed.code, 2);
    assert.match(malformed.stderr, /^--role: "Editor" is not the name of a role/m);
  });

  it("console prints a link to the running server, which signs in", async () => {
    const { code, stdout, stderr } = await run(["console", "--data", "desk"], { cwd });
    assert.deepEqual(
      [code, stderr],
      [0, "Opens the console signed in: once, within 15 minutes.\n"],
    );
    const [url, secret] = stdout.trimEnd().split("/-/console#code=");
    assert.equal(url, running.url);
    assert(isSecret(secret ?? "", "rsc"));
    const signedIn = await fetch(`${running.url}/-/console/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: secret }),
    });
    assert.equal(signedIn.status, 201);
    assert.match((await token("list")).stdout, / console sign-in .* admin .* alive$/m);
  });

  it("console says when no server has the folder, and where the link will lead", async () => {
    const args = ["console", "--data", "kept", "--base-url", "https://example.org/api"];
    const { code, stdout, stderr } = await run(args, { cwd });
    assert.equal(code, 0);
    assert.match(stderr, /^No server uses \S+kept now: start it first\. /);
    assert.match(stdout, /^https:\/\/example\.org\/api\/-\/console#code=rsc_/);
    const off = await run(["console", "--data", "kept"], {
      cwd,
      environment: { RESTANTE_CONSOLE: "off" },
    });
    assert.deepEqual([off.code, off.stdout], [1, ""]);
  });

  it("secret prints a secret and stores nothing", async () => {
    const before = (await token("list")).stdout;
    const { stdout } = await run(["token", "secret"], { cwd });
    assert(isSecret(stdout.trimEnd()));
    assert.equal((await token("list")).stdout, before);
  });
});

describe("signals", () => {
  /** A POST whose body is not whole yet. */
  async function halfPosted(running: ServerProcess, token: string) {
    const socket = connect(running.port, new URL(running.url).hostname);
    await once(socket, "connect");
    const head = ["POST /people HTTP/1.1", "Host: localhost", `Authorization: Bearer ${token}`];
    const type = ["Content-Type: application/json", "Content-Length: 14", "", '{"name":'];
    socket.setEncoding("utf8").write([...head, ...type].join("\r\n"));
    // Until the server has read it: only then is the request in flight.
    await people(running.url, token);
    return socket;
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const)
    it(`${signal} finishes a request in progress, and accepts no new one`, async () => {
      const running = await start(["--data", `drained-${signal}`], { cwd });
      const token = firstToken(running);
      const socket = await halfPosted(running, token);
      running.signal(signal);
      while (!running.stdout().includes('"draining"')) await sleep(10);
      const next = connect(running.port, new URL(running.url).hostname);
      await assert.rejects(once(next, "connect"), { code: "ECONNREFUSED" });
      socket.write('"Bob"}');
      const [answer] = await once(socket, "data");
      assert.match(answer, /^HTTP\/1.1 201 /);
      assert.equal((await running.ended).code, 0);
    });

  it("two signals that arrive at once count once; a later one stops immediately", async () => {
    const running = await start(["--data", "pressed"], { cwd });
    await halfPosted(running, firstToken(running));
    // Both wait until it goes on.
    for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const)
      running.signal(signal);
    while (!running.stdout().includes('"draining"')) await sleep(10);
    // Longer than what counts as one press.
    await sleep(700);
    assert.doesNotMatch(running.stdout(), /"stopped"/);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 143);
    assert.doesNotMatch(running.stdout(), /"stopped"/);
  });
});
