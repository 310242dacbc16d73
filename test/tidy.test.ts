// The code's own form: who may import whom, where outside things live, and what is never written.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  complaintOf,
  expressionsIn,
  type FoundExpression,
  nameOf,
  provedBounded,
} from "./regular-expressions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** From top to bottom. A file imports from lower layers and from its own layer only. */
const floors = [
  "src/main.ts",
  "src/index.ts",
  "src/cli/",
  "src/server/",
  "src/http/",
  "src/runtime/",
  "src/domain/",
  "src/store/",
  "src/model/",
  "src/lib/",
];

/** Who may import a file or folder of ours, where the layers alone do not say it. */
const doors: readonly [what: RegExp, importers: RegExp][] = [
  [/^src\/server\/setting-values\.ts$/, /^src\/server\/settings\.ts$/],
  [/^src\/server\/settings\.ts$/, /^src\/server\/(config|log)\.ts$/],
  [/^src\/store\/sqlite\//, /^src\/(server\/open-store\.ts$|store\/sqlite\/)/],
  [/^src\/store\/disk\//, /^src\/(server\/app\.ts$|store\/disk\/)/],
  [/^src\/store\/postgres\//, /^src\/(server\/open-store\.ts$|store\/postgres\/)/],
  [/^src\/runtime\/(?!runtime\.ts$)/, /^src\/runtime\//],
  [/^#runtime$/, /^src\/server\/(lifecycle|actions-folder|app|open-store)\.ts$/],
];

/** Outside things have one address each. What is not listed is not used. */
const packages: Readonly<Record<string, RegExp>> = {
  "@eslint-community/regexpp": /^src\/lib\/regex\/pattern\.ts$/,
  "@hono/node-server": /^src\/runtime\/node/,
  commander: /^src\/main\.ts$/,
  "content-type": /^src\/http\//,
  negotiator: /^src\/http\//,
  pino: /^src\/server\/log\.ts$/,
  postgres: /^src\/store\/postgres\//,
  typebox: /^src\/lib\/schema\/validator\.ts$/,
  uuidv7: /^src\/model\/id\.ts$/,
  "node:child_process": /^src\/(server\/supervisor|runtime\/node\/modules)\.ts$/,
  "node:sqlite": /^src\/store\/sqlite\//,
  "node:worker_threads": /^src\/store\//,
};

const anywhere = /^/;
const nowhere = /^(?!)/;
const source = /^src\//;

/** Words and the only places where they may stand, outside strings and comments. */
const words: readonly [what: string, pattern: RegExp, within: RegExp, allowed: RegExp][] = [
  ["the global Bun", /\bBun\b/, source, /^src\/runtime\/bun\.ts$/],
  ["process.env", /\bprocess\.env\b/, source, /^src\/server\/config\.ts$/],
  ["console", /\bconsole\./, source, /^src\/(main|cli\/serve|cli\/token)\.ts$/],
  ["the type any", /(?:[:<|&]|\bas|\bextends)\s*any\b/, anywhere, nowhere],
];

const promises = new RegExp(`\\b(${"TO"}DO|${"FIX"}ME)\\b`);
const kindFolders = /\/(routes|middleware|utils|helpers|common|misc)\//;
const longestFile = 300;

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. */
const importShape =
  /(?:^\s*(?:import|export)\b[^"'`;]*?\bfrom\s*|^\s*import\s*|\bimport\(\s*)"(?<from>[^"\n]+)"/gm;

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  /** The lines with comments and strings blanked out. */
  readonly code: readonly string[];
  readonly imports: readonly Import[];
  /** The regular expressions of the source. */
  readonly expressions: readonly FoundExpression[];
}

interface Import {
  /** A path from the root, `#runtime`, or a package's name. */
  readonly target: string;
  readonly line: number;
}

/** Every rule lists what breaks it, as `file:line: what`. */
const rules: Readonly<Record<string, (services: readonly Source[]) => readonly string[]>> = {
  "imports only go down": (services) =>
    eachImport(services, ({ path }, { target }) => {
      const from = floorOf(path);
      const to = floorOf(target);
      const isInside = from === to && floors[from]?.endsWith("/");
      return from >= 0 && to >= 0 && to <= from && !isInside && `imports ${target}`;
    }),

  "every file stands on a floor": (services) =>
    services
      .filter(({ path }) => source.test(path) && floorOf(path) < 0)
      .map(({ path }) => `${path}:1: stands on no floor`),

  "there are no circles, types included": findCircles,

  "the runtime knows nothing of us": (services) =>
    eachImport(services, ({ path }, { target }) => {
      const isOurs = target.startsWith("src/") && !target.startsWith("src/runtime/");
      return path.startsWith("src/runtime/") && isOurs && `imports ${target}`;
    }),

  "some doors are for some only": (services) =>
    eachImport(services, ({ path }, { target }) => {
      const isRefused = ([what, importers]: (typeof doors)[number]) =>
        what.test(target) && !importers.test(path);
      return path.startsWith("src/") && doors.some(isRefused) && `imports ${target}`;
    }),

  "outside things have one address each": (services) =>
    eachImport(services, ({ path }, { target }) => {
      if (!path.startsWith("src/") || /^(src\/|#)/.test(target)) return undefined;
      const address = packages[target] ?? (target.startsWith("node:") ? anywhere : nowhere);
      return !address.test(path) && `imports ${target}`;
    }),

  "some words have one place, or none": (services) =>
    words.flatMap(([what, pattern, within, allowed]) =>
      services
        .filter(({ path }) => within.test(path) && !allowed.test(path))
        .flatMap(({ path, code }) => linesWith(path, code, pattern, `holds ${what}`)),
    ),

  "a file opens with one line that says its charge": (services) =>
    services
      .filter(({ lines }) => !/^\/\/ \S.*\S$/.test(lines.find((line) => !/^#!/.test(line)) ?? ""))
      .map(({ path }) => `${path}:1: does not open with a // comment`),

  "no file is long": (services) =>
    services
      .filter(({ path, lines }) => source.test(path) && lines.length > longestFile)
      .map(({ path, lines }) => `${path}:${lines.length}: is over ${longestFile} lines`),

  "nothing is left for later": (services) =>
    services.flatMap(({ path, lines }) => linesWith(path, lines, promises, "leaves work undone")),

  "no regular expression is slower than linear": (services) =>
    services
      .filter(({ path }) => source.test(path))
      .flatMap(({ path, expressions }) =>
        expressions.flatMap((found) => {
          const complaint = complaintOf(path, found);
          return complaint === undefined ? [] : [`${path}:${found.line}: ${complaint}`];
        }),
      ),

  "folders are named after nouns, not kinds": (services) =>
    services
      .filter(({ path }) => kindFolders.test(path))
      .map(({ path }) => `${path}:1: is in a folder named after a kind`),
};

describe("the house is tidy", () => {
  const services = readHouse(["src", "test", "scripts", "bin", "bench"]);

  for (const [name, rule] of Object.entries(rules))
    it(name, () => assert.deepEqual(rule(services), []));

  it("dependencies are those that the source imports, and Bun, which runs it", () => {
    const { dependencies } = JSON.parse(read("package.json"));
    const outside = services
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap(({ imports }) => imports.map(({ target }) => target))
      .filter((target) => !/^(src\/|#|node:)/.test(target));
    assert.deepEqual([...new Set([...outside, "bun"])].sort(), Object.keys(dependencies).sort());
  });

  it("every exception among the regular expressions is in use", () => {
    const texts = services
      .filter(({ path }) => source.test(path))
      .flatMap(({ path, expressions }) => expressions.map(({ text }) => nameOf(path, text)));
    assert.deepEqual([...new Set(provedBounded.keys()).difference(new Set(texts))], []);
  });

  it("the compiler refuses what cannot be erased, and all that strictness finds", () => {
    const { compilerOptions } = JSON.parse(read("tsconfig.json"));
    const { erasableSyntaxOnly, verbatimModuleSyntax, strict } = compilerOptions;
    assert.deepEqual([erasableSyntaxOnly, verbatimModuleSyntax, strict], [true, true, true]);
  });

  it("the lock file holds no address", () => {
    const lines = read("package-lock.json").split("\n");
    assert.deepEqual(linesWith("package-lock.json", lines, /"resolved"/, "names a registry"), []);
  });
});

describe("the rules find what they are for", () => {
  const charge = "// Says its charge.\n";
  const broken: readonly [rule: string, path: string, text: string, found: readonly string[]][] = [
    [
      "imports only go down",
      "src/model/a.ts",
      `${charge}import type { B } from "../store/b.ts";\nimport { c } from "./c.ts";\n`,
      ["src/model/a.ts:2: imports src/store/b.ts"],
    ],
    [
      "imports only go down",
      "src/lib/a.ts",
      `${charge}export { serve } from "../cli/serve.ts";`,
      ["src/lib/a.ts:2: imports src/cli/serve.ts"],
    ],
    ["every file stands on a floor", "src/new.ts", charge, ["src/new.ts:1: stands on no floor"]],
    [
      "there are no circles, types included",
      "src/model/a.ts",
      `${charge}import {\n  type A,\n} from "./a.ts";`,
      ["src/model/a.ts:4: src/model/a.ts → src/model/a.ts"],
    ],
    [
      "the runtime knows nothing of us",
      "src/runtime/node.ts",
      `${charge}const id = await import("../model/id.ts");`,
      ["src/runtime/node.ts:2: imports src/model/id.ts"],
    ],
    [
      "some doors are for some only",
      "src/http/a.ts",
      `${charge}import { openDisk } from "../store/disk/disk.ts";\nimport { serve } from "#runtime";`,
      ["src/http/a.ts:2: imports src/store/disk/disk.ts", "src/http/a.ts:3: imports #runtime"],
    ],
    [
      "outside things have one address each",
      "src/domain/a.ts",
      `${charge}import { Hono } from "hono/tiny";\nimport x from "left-pad";\nimport "node:fs";`,
      ["src/domain/a.ts:2: imports hono", "src/domain/a.ts:3: imports left-pad"],
    ],
    [
      "some words have one place, or none",
      "src/domain/a.ts",
      `${charge}// any\nlet a: any;\nlet b = "Bun"; /* console.log */\nBun.serve(process.env);`,
      [
        "src/domain/a.ts:5: holds the global Bun",
        "src/domain/a.ts:5: holds process.env",
        "src/domain/a.ts:3: holds the type any",
      ],
    ],
    [
      "a file opens with one line that says its charge",
      "src/domain/a.ts",
      "import x;\n",
      ["src/domain/a.ts:1: does not open with a // comment"],
    ],
    [
      "no file is long",
      "src/domain/a.ts",
      charge.repeat(longestFile + 1),
      [`src/domain/a.ts:${longestFile + 1}: is over ${longestFile} lines`],
    ],
    [
      "nothing is left for later",
      "test/a.test.ts",
      `${charge}// ${"TO"}${"DO"}: later`,
      ["test/a.test.ts:2: leaves work undone"],
    ],
    [
      "no regular expression is slower than linear",
      "src/http/a.ts",
      `${charge}const a = /^a+$/;\nconst b = "/(a+)+$/";\nconst c = x / y / /(a+)+$/g.z;\nconst d = [/a+$/, /a+b/y, new RegExp(b)];`,
      [
        "src/http/a.ts:4: holds a regular expression that is unsafe: /(a+)+$/g",
        "src/http/a.ts:5: holds a regular expression that is quadratic: /a+$/",
        "src/http/a.ts:5: holds a regular expression that is quadratic: /a+b/y",
        "src/http/a.ts:5: makes a regular expression at run time: new RegExp(b)",
      ],
    ],
    [
      "folders are named after nouns, not kinds",
      "src/http/utils/a.ts",
      charge,
      ["src/http/utils/a.ts:1: is in a folder named after a kind"],
    ],
  ];
  for (const [rule, path, text, found] of broken)
    it(`${rule}: ${path}`, () => assert.deepEqual(rules[rule]?.([parse(path, text)]), found));
});

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function readHouse(folders: readonly string[]): readonly Source[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => /\.[jt]s$/.test(path) && !/(^|\/)(\.|node_modules\/)/.test(path))
        .map((path) => join(folder, path)),
    )
    .sort()
    .map((path) => parse(path, read(path)));
}

function parse(path: string, text: string): Source {
  const withoutComments = text.replace(/(?<!:)\/\/.*|\/\*[\s\S]*?\*\//g, blank);
  const code = withoutComments.replace(/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, blank);
  const imports = [...withoutComments.matchAll(importShape)].map((match) => ({
    target: targetOf(path, match.groups?.from ?? ""),
    line: text.slice(0, match.index + match[0].length).split("\n").length,
  }));
  const lines = text.replace(/\n$/, "").split("\n");
  const expressions = source.test(path) ? expressionsIn(path, text) : [];
  return { path, lines, code: code.split("\n"), imports, expressions };
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

function targetOf(path: string, from: string): string {
  if (from.startsWith(".")) return normalize(join(dirname(path), from));
  const depth = from.startsWith("@") ? 2 : 1;
  return /^(#|node:)/.test(from) ? from : from.split("/").slice(0, depth).join("/");
}

/** Folders end with a slash, so no file's path begins with another's. */
function floorOf(path: string): number {
  return floors.findIndex((floor) => path.startsWith(floor));
}

type Complaint = string | false | undefined;

function eachImport(
  services: readonly Source[],
  judge: (source: Source, item: Import) => Complaint,
): readonly string[] {
  return services.flatMap((file) =>
    file.imports.flatMap((item) => {
      const complaint = judge(file, item);
      return complaint ? [`${file.path}:${item.line}: ${complaint}`] : [];
    }),
  );
}

function linesWith(
  path: string,
  lines: readonly string[],
  pattern: RegExp,
  complaint: string,
): readonly string[] {
  return lines.flatMap((line, index) =>
    pattern.test(line) ? [`${path}:${index + 1}: ${complaint}`] : [],
  );
}

/** Walks every way from every file; a way that meets itself again is a circle, told once. */
function findCircles(services: readonly Source[]): readonly string[] {
  const files = new Map(services.map((file) => [file.path, file]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: Source, way: readonly string[]): void => {
    for (const { target, line } of file.imports) {
      const start = way.indexOf(target);
      const next = files.get(target);
      if (start >= 0)
        found.push(`${file.path}:${line}: ${[...way.slice(start), target].join(" → ")}`);
      else if (next !== undefined && !done.has(target)) walk(next, [...way, target]);
    }
    done.add(file.path);
  };
  for (const file of services) if (!done.has(file.path)) walk(file, [file.path]);
  return found;
}
