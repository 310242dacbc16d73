// A folder of actions: loading, errors in modules, and errors at run time.
// @runtimes node

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { defineAction, ProblemError, restante } from "../src/index.ts";
import { CliError } from "../src/lib/cli-error.ts";
import { actionLimits } from "../src/model/action-schema.ts";
import { newSecret } from "../src/model/secret.ts";
import { loadActions, reloadActions } from "../src/server/actions-folder.ts";
import { defaultConfig } from "../src/server/config.ts";
import { childrenOf, commandLine, run, type ServerProcess, start } from "./process.ts";
import { isLong } from "./seeds.ts";
import { itLong } from "./short-run.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const actions = file("http/actions");
const secret = newSecret();

let folder: string;
let cwd: string;
let running: ServerProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "restante-actions-"));
  cwd = mkdtempSync(join(tmpdir(), "restante-"));
});
afterEach(async () => {
  running?.signal("SIGTERM");
  await running?.ended;
  running = undefined;
  for (const path of [folder, cwd]) rmSync(path, { recursive: true, force: true });
});

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const load = () => loadActions({ ...defaultConfig, actions: folder });
const sound = "export const description = 'x', input = {}, run = () => 1;";

describe("a folder of actions", () => {
  it("reports a module that does not end to load, and loads it when it is repaired", async () => {
    const config = { ...defaultConfig, actions: folder };
    write("stuck.ts", `await new Promise(() => {}); ${sound}`);
    write("broken.ts", "export const = 1;");
    await assert.rejects(loadActions(config, 200), ({ message }: Error) => {
      assert.match(message, /stuck\.ts: cannot be loaded: it was not loaded within 0\.2 seconds/);
      assert.match(message, /broken\.ts/);
      return true;
    });
    write("broken.ts", sound);
    for (const word of ["repaired", "changed"]) {
      write("stuck.ts", sound.replace("'x'", `'${word}'`));
      const described = (await reloadActions(config)).map(({ description }) => description);
      assert.deepEqual(described, ["x", word]);
    }
  });

  it("has one action per module, as default or named export, in TypeScript or JavaScript", async () => {
    write(
      "a.ts",
      "const text: string = 'A'; export default { description: text, input: { type: 'object' }, timeoutMs: 5, output: { type: 'integer' }, run: (): number => 1 };",
    );
    write("b-2.js", sound);
    write("c.mts", sound);
    write("d.mjs", `${sound} export const forTests = 1;`);
    for (const name of ["_helper.ts", "a.test.ts", "a.spec.js", ".hidden.ts", "a.d.ts", "notes.md"])
      write(name, "nonsense {");
    mkdirSync(join(folder, "more.ts"));
    const found = await load();
    assert.deepEqual(
      found.map(({ name, description, timeoutMs }) => [name, description, timeoutMs]),
      [
        ["a", "A", 5],
        ["b-2", "x", actionLimits.defaultTimeoutMs],
        ["c", "x", actionLimits.defaultTimeoutMs],
        ["d", "x", actionLimits.defaultTimeoutMs],
      ],
    );
    assert.deepEqual(found[0]?.output, { type: "integer" });
  });

  it("is optional, and must exist when it is configured", async () => {
    assert.deepEqual(await loadActions(defaultConfig), []);
    const nowhere = { ...defaultConfig, actions: join(folder, "nowhere") };
    await assert.rejects(loadActions(nowhere), /--actions: cannot read the folder/);
  });

  it("reports every error of every module at once", async () => {
    write("throws.ts", "throw new Error('at once')");
    write("syntax.ts", "export const = 1;");
    write("import.ts", "import 'no-such-package-anywhere';");
    write("empty.ts", "export {};");
    write("text.ts", "export default 'text';");
    write("Upper.ts", sound);
    write("read.ts", sound);
    write("twice.js", sound);
    write("twice.ts", sound);
    write(
      "wrong.ts",
      `export default {
      description: "", timeoutMs: 0, run: 1, color: "red", output: { type: "objet" },
      input: { type: "array", properties: { a: { pattern: "(a+)+$" } } },
    };`,
    );
    write(
      "circle.ts",
      `const input = {}; input.self = input; export default { description: "x", input, run() {} };`,
    );
    await assert.rejects(load(), (error) => {
      assert.ok(error instanceof CliError);
      assert.equal(error.code, 2);
      const lines = error.message.split("\n");
      const reported: readonly [place: string, words: RegExp][] = [
        ["throws.ts:", /cannot be loaded: .*throws\.ts:1:\d+: at once/],
        ["syntax.ts:", /cannot be loaded/],
        ["import.ts:", /cannot be loaded.*no-such-package-anywhere/],
        ["empty.ts /description:", /is required/],
        ["empty.ts /input:", /is required/],
        ["empty.ts /run:", /is required/],
        ["text.ts:", /must be an object/],
        ["Upper.ts:", /1 to 63 characters of a-z/],
        ["read.ts:", /must not have the name read/],
        ["twice.ts:", /another module has the same/],
        ["wrong.ts /description:", /must be text/],
        ["wrong.ts /timeoutMs:", /from 1 to 100000/],
        ["wrong.ts /run:", /must be a function/],
        ["wrong.ts /color:", /unknown member/],
        ["wrong.ts /output/type:", /./],
        ["wrong.ts /input/type:", /must be "object", because an input is one/],
        ["wrong.ts /input/properties/a/pattern:", /unsafe/],
        ["circle.ts /input:", /must be JSON/],
      ];
      for (const [place, words] of reported)
        assert.ok(
          lines.some((line) => line.includes(`/${place}`) && words.test(line)),
          `${place} in\n${error.message}`,
        );
      return true;
    });
  });

  it("allows what a collection does not: fields with the server's names, and any output", async () => {
    write(
      "a.ts",
      "export default { description: 'x', input: { properties: { id: { type: 'string' } }, required: ['id'] }, output: { type: ['array', 'null'] }, run() {} };",
    );
    assert.equal((await load()).length, 1);
  });

  it("is checked before the server starts", async () => {
    write("wrong.ts", "export default { description: 'x', input: {} };");
    const args = ["serve", "--port", "0", "--data", join(cwd, "data"), "--actions", folder];
    for (const workers of ["1", "2"]) {
      const { code, stderr, stdout } = await run([...args, "--workers", workers], { cwd });
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^.*wrong\.ts \/run: run is required\n/);
      assert.doesNotMatch(stderr, /admin token/);
    }
  });
});

describe("a user module", () => {
  const commonJs = () => write("package.json", '{ "type": "commonjs" }');

  itLong("imports restante from any folder: the first example of the documentation", async () => {
    const page = readFileSync(file("../docs/actions.md"), "utf8");
    const example = /^```ts\n([\s\S]+?)^```$/m.exec(page)?.[1] ?? assert.fail();
    for (const prepare of [() => undefined, commonJs]) {
      prepare();
      write("send-invoice.ts", example);
      const { code, stdout, stderr } = await list();
      assert.deepEqual([code, stdout, stderr], [0, "send-invoice\n", ""]);
    }
  });

  it("gets the same classes as the program that runs it", async () => {
    write(
      "a.ts",
      `import { ProblemError } from "restante"; ${sound} export const output = ProblemError && {};`,
    );
    write("b.ts", `import * as all from "restante"; ${sound} export const forTests = all;`);
    assert.equal((await load()).length, 2);
    const { forTests } = await import(join(folder, "b.ts"));
    assert.equal(forTests.ProblemError, ProblemError);
  });

  it("may be an ES module in a CommonJS folder, and may be CommonJS", async () => {
    commonJs();
    write("_helper.ts", "export const text: string = 'x';");
    write(
      "a.ts",
      `import { text } from "./_helper.ts"; export default { description: text, input: {}, run: (): number => 1 };`,
    );
    write("b.js", sound);
    write("c.ts", "module.exports = { description: 'x' as string, input: {}, run: () => 1 };");
    const { stdout, stderr } = await list();
    assert.deepEqual([stdout, stderr], ["a b c\n", ""]);
  });

  const broken: readonly [name: string, text: string, place: RegExp][] = [
    ["a.ts", "// one\nexport default {\n  run( { return 1; },\n};\n", /\/a\.ts:3(:\d+)?: Expected/],
    ["b.mjs", `${sound}\n\nlet x = ;\n`, /\/b\.mjs:3(:\d+)?: Unexpected/],
    [
      "c.ts",
      `${sound}\nconst x: number = 1;\nconst x: number = 2;\n`,
      /\/c\.ts:3(:\d+)?: .*already been declared/,
    ],
    ["d.js", "const y = {};\nmodule.exports = { run( };\n", /\/d\.js:2(:\d+)?: /],
    [
      "e.ts",
      `import { no } from "./_helper.ts";\n${sound}\nexport const forTests = no;\n`,
      /_helper\.ts/,
    ],
    [
      "f.ts",
      `\nthrow new Error("thrown on purpose");\n${sound}`,
      /\/f\.ts:2:\d+: thrown on purpose/,
    ],
  ];
  for (const [name, text, place] of broken)
    it(`with a syntax error is reported with file, line and message: ${name}`, async () => {
      write("_helper.ts", "export const text = 'x';");
      write(name, text);
      await assert.rejects(load(), (error) => {
        assert.ok(error instanceof CliError);
        assert.match(error.message, /^\S+ cannot be loaded: /);
        assert.match(error.message, place);
        return true;
      });
    });

  it("that imports a broken module: the broken one is reported", async () => {
    write("_broken.mjs", "export const x = 1;\nexport const x = 2;\n");
    write("a.mjs", `import { x } from "./_broken.mjs";\n${sound}\n`);
    await assert.rejects(load(), /_broken\.mjs:2(:\d+)?: /);
  });

  /** In a process of its own, which has not imported anything from the folder. */
  const list = () => {
    const script = `import { loadActions } from ${JSON.stringify(file("../src/server/actions-folder.ts"))};
      import { defaultConfig } from ${JSON.stringify(file("../src/server/config.ts"))};
      const all = await loadActions({ ...defaultConfig, actions: ${JSON.stringify(folder)} });
      console.log(all.map(({ name }) => name).join(" "));`;
    writeFileSync(join(cwd, "list.mts"), script);
    const [program, ...flags] = commandLine;
    const args = [...flags.slice(0, -1), join(cwd, "list.mts")];
    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(program, args, { cwd }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  };
});

const serve = async (...args: readonly string[]) => {
  running = await start(["--data", "data", ...args], {
    cwd,
    environment: { RESTANTE_ADMIN_TOKEN: secret },
  });
  return running;
};

const post = (url: string, name: string, input: object) =>
  fetch(`${url}/-/actions/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(input),
  });

describe("a server with actions", () => {
  it("keeps running after late errors of actions, and logs them", async () => {
    const { url, stdout, ended } = await serve("--actions", actions);
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    for (const how of ["promise", "timer", "microtask"]) {
      const answer = await post(url, "fail", { how });
      assert.deepEqual([answer.status, await answer.json()], [200, { fine: true }], how);
    }
    assert.equal((await post(url, "fail", { how: "abort" })).status, 504);
    assert.equal((await post(url, "fail", { how: "throw" })).status, 500);
    const strays = () => stdout().match(/unhandled promise rejection|outside of its run/g)?.length;
    while ((strays() ?? 0) < 4) await sleep(20);
    assert.equal(strays(), 4, stdout());
    assert.equal((await post(url, "echo", {})).status, 200);
    assert.equal(isEnded, false);
  });

  itLong("has them in each of its processes", { skip: process.platform !== "linux" }, async () => {
    const { url, pid } = await serve("--actions", actions, "--workers", "2");
    const before = await childrenOf(pid);
    assert.equal(before.length, 2);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        post(url, "verbs", { verb: "create", args: ["things", { n }] }),
      ),
    );
    for (const answer of all) assert.equal(answer.status, 200);
    for (const how of ["promise", "timer", "promise", "timer"]) await post(url, "fail", { how });
    assert.equal((await post(url, "echo", {})).status, 200);
    assert.deepEqual(await childrenOf(pid), before);
  });

  it("finds a folder in the config file relative to that file", async () => {
    write("hello.js", sound);
    writeFileSync(join(folder, "restante.json"), '{ "actions": "." }');
    const { url } = await serve("--config", join(folder, "restante.json"));
    assert.equal(await (await post(url, "hello", {})).json(), 1);
  });
});

describe("actions in an embedding program", () => {
  const greet = defineAction({
    description: "Greets.",
    input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    run: ({ input: { name } }) => `Hello, ${name}!`,
  });
  const ask = async (options: Parameters<typeof restante>[0], name: string, input: object) => {
    const server = await restante({ data: cwd, ...options });
    const headers = {
      authorization: `Bearer ${server.firstAdminToken}`,
      "content-type": "application/json",
    };
    const url = `http://localhost/-/actions/${name}`;
    const body = JSON.stringify(input);
    const answer = await server.fetch(new Request(url, { method: "POST", headers, body }));
    await server.close();
    return answer;
  };

  it("are given as objects, or as a folder", async () => {
    const bannerText = await ask({ actions: { greet } }, "greet", { name: "Ada" });
    assert.equal(await bannerText.json(), "Hello, Ada!");
    rmSync(cwd, { recursive: true });
    const said = await ask({ actions }, "echo", { id: "x" });
    assert.deepEqual(((await said.json()) as { input: unknown }).input, { id: "x", count: 1 });
  });

  it("are checked as a folder is", async () => {
    const wrong = restante({ data: cwd, actions: { "Not a name": { ...greet, timeoutMs: 1.5 } } });
    await assert.rejects(wrong, /"Not a name": the file name is[\s\S]*"Not a name" \/timeoutMs/);
  });
});

/** What the compiler says of a text does not depend on the runtime. */
const skip = "bun" in process.versions && !isLong && "it runs under Node";

describe("the types of an action", { skip }, () => {
  const compiler = file("../node_modules/.bin/tsc");
  /** The door of the package leads to all of it, which takes the compiler longer. */
  const modules = ["model/action.ts", "lib/schema/from-schema.ts"].map((name) =>
    file(`../src/${name}`),
  );

  /** What the compiler has to say of a module, nothing where all is well. */
  async function compile(program: string): Promise<string> {
    const path = join(folder, "program.ts");
    writeFileSync(
      path,
      `import { accepted, defineAction, problem } from "${modules[0]}"; import type { FromSchema } from "${modules[1]}";\n${program}`,
    );
    const flags = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--target",
      "esnext",
      "--skipLibCheck",
      "--singleThreaded",
    ];
    const module = ["--module", "nodenext", "--moduleResolution", "nodenext"];
    const more = [
      "--allowImportingTsExtensions",
      "--noUncheckedIndexedAccess",
      "--exactOptionalPropertyTypes",
    ];
    const types = ["--typeRoots", file("../node_modules/@types"), "--types", "node,bun"];
    return promisify(execFile)(compiler, [...flags, ...module, ...more, ...types, path]).then(
      () => "",
      ({ stdout }: { stdout: string }) => stdout,
    );
  }

  it("are derived from its schema", async () => {
    const found = await compile(`
      type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
      const schema = {
        type: "object",
        properties: {
          text: { type: "string" }, count: { type: "integer" }, ratio: { type: "number" },
          isOpen: { type: "boolean" }, nothing: { type: "null" }, maybe: { type: ["string", "null"] },
          one: { enum: ["a", 1, null] }, only: { const: "x" }, filled: { type: "integer", default: 1 },
          tags: { type: "array", items: { type: "string" } }, list: { type: "array" },
          inner: { type: "object", properties: { deep: { type: "boolean" } }, required: ["deep"] },
          map: { type: "object", additionalProperties: { type: "number" } },
          either: { anyOf: [{ type: "string" }, { type: "number" }] },
          other: { $ref: "#/$defs/x" }, any: true, never: false,
        },
        required: ["text", "tags", "only", "inner"],
      } as const;
      type Input = FromSchema<typeof schema>;
      type Output = FromSchema<typeof schema, "out">;
      export const checks: readonly [
        Same<Input["text"], string>, Same<Input["count"], number | undefined>, Same<Input["ratio"], number | undefined>,
        Same<Input["isOpen"], boolean | undefined>, Same<Input["nothing"], null | undefined>,
        Same<Input["maybe"], string | null | undefined>, Same<Input["one"], "a" | 1 | null | undefined>,
        Same<Input["only"], "x">, Same<Input["filled"], number>, Same<Output["filled"], number | undefined>,
        Same<Input["tags"], readonly string[]>, Same<Input["list"], readonly unknown[] | undefined>,
        Same<Input["inner"], { readonly deep: boolean }>,
        Same<NonNullable<Input["map"]>[string], number>, Same<Input["either"], string | number | undefined>,
        Same<Input["other"], unknown>, Same<Input["any"], unknown>, Same<Input["never"], undefined>,
      ] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true];
      export default defineAction({
        description: "x",
        input: { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } }, required: ["name"] },
        output: { type: "array", items: { type: "string" } },
        async run({ input, resources, signal, caller }) {
          const size: number = input.name.length + (input.age ?? 0);
          const { body, etag, location } = await resources.get("people", input.name);
          await resources.patch("people", body.id, { size }, { ifMatch: etag });
          await resources.batch([{ method: "DELETE", path: "/people/x", ifMatch: etag }]);
          const { data } = await resources.list("people", { where: { name: "x" }, limit: 1 });
          if (data.length === 0) throw problem("conflict", "none");
          if (signal.aborted) return undefined;
          return size > 1 ? accepted(location) : [caller.name];
        },
      });
      export const bare = defineAction({
        description: "x",
        input: { properties: { name: { type: "string" } }, required: ["name"] },
        run: ({ input: { name }, resources: { get } }) => get("people", name),
      });
      export const silent = defineAction({ description: "x", input: {}, async run() {} });
    `);
    assert.equal(found, "");
  });

  itLong("reject wrong use", async () => {
    const wrong = [
      "input.nmae",
      "input.name.toFixed()",
      "input.age.toFixed()",
      'input.role === "nobody"',
      'input.name = "x"',
      "input.tags[0].toFixed()",
      'resources.create("people")',
      'resources.get("people")',
      'resources.list("people", { nonsense: 1 })',
      'resources.batch([{ method: "GET", path: "/people" }])',
      'problem("internal-error", "x")',
      "accepted(1)",
    ];
    const head = `const input = { type: "object", properties: { name: { type: "string" }, age: { type: "integer" }, role: { enum: ["a", "b"] }, tags: { type: "array", items: { type: "string" } } }, required: ["name", "role", "tags"], additionalProperties: false } as const;`;
    const bodies = wrong.map(
      (each) =>
        `defineAction({ description: "x", input, run({ input, resources }) { void resources; void input; void (${each}); } });`,
    );
    const definitions = [
      "defineAction({ input, run() {} });",
      'defineAction({ description: "x", run() {} });',
      'defineAction({ description: "x", input });',
      'defineAction({ description: "x", input, timeoutMs: "1", run() {} });',
      'defineAction({ description: "x", input, colour: 1, run() {} });',
      'defineAction({ description: "x", input, output: { type: "integer" }, run: () => "text" });',
      'defineAction({ description: "x", input, output: { type: "object", properties: { a: { type: "string" } }, required: ["a"] }, run: async () => ({ b: 1 }) });',
    ];
    const lines = [...bodies, ...definitions];
    const found = await compile([head, ...lines].join("\n"));
    const reported = new Set(
      [...found.matchAll(/program\.ts\((\d+),/g)].map(([, line]) => Number(line)),
    );
    const missed = lines.filter((_, index) => !reported.has(index + 3));
    assert.deepEqual(missed, [], found);
    assert.equal(reported.size, lines.length, found);
  });
});
