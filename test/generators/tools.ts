// The tools that read OpenAPI documents, with pinned versions: how each is fetched, run and its client compiled.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Tools are fetched once and stay here. */
const cache = fileURLToPath(new URL("../../node_modules/.cache/generators", import.meta.url));
const jar = join(cache, "openapi-generator-cli-7.25.0.jar");
const python = join(cache, "python/bin/python");

const packages = [
  ...["schemathesis==4.32.5", "openapi-python-client==0.29.1", "httpx==0.28.1"],
  ...["pydantic==2.14.3", "python-dateutil==2.9.0.post0", "urllib3==2.7.0"],
];

/** One command and where it runs. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Generator {
  readonly name: string;
  /** Programs that the machine must have. */
  readonly needs: readonly string[];
  /** Commands that fetch the tool, if it is not there. */
  readonly prepare: () => Promise<void>;
  /** Commands in a copy of `samples/{name}` that make the client and compile the program. */
  readonly build: (document: string) => readonly Command[];
  /** Runs the program. The address of the server, a token and the id of a book with a cover follow. */
  readonly run: (args: readonly string[]) => Command;
}

const command = (program: string, ...args: string[]): Command => ({ program, args });

/** Runs a command and returns its output. Throws with its output if it fails. */
export async function runCommand({ program, args, env }: Command, cwd: string): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  return promisify(execFile)(program, args, options).then(
    ({ stdout }) => stdout,
    ({ code, stdout = "", stderr = "" }) => {
      const end = `${stdout}${stderr}`.slice(-4000);
      const error = new Error(`${program} ${args.join(" ")} ended with ${code}:\n${end}`);
      throw Object.assign(error, { stdout });
    },
  );
}

/** The programs that are not on the path. */
export function missing(programs: readonly string[]): readonly string[] {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
}

/** Runs the commands that make a file, unless it is there. */
async function fetchOnce(made: string, ...commands: readonly Command[]): Promise<void> {
  if (existsSync(made)) return;
  await mkdir(cache, { recursive: true });
  for (const one of commands) await runCommand(one, cache);
}

const fetchJar = () => {
  const artifact = "-Dartifact=org.openapitools:openapi-generator-cli:7.25.0";
  return fetchOnce(
    jar,
    command("mvn", "-q", "dependency:copy", artifact, `-DoutputDirectory=${cache}`),
  );
};

export const fetchPython = () =>
  fetchOnce(
    join(cache, "python/bin/schemathesis"),
    command("python3", "-m", "venv", "python"),
    command(python, "-m", "pip", "install", "--quiet", ...packages),
  );

/** Returns the folder with the package and its dependencies. */
export async function fetchPackage(name: string, version: string): Promise<string> {
  const prefix = join(cache, name);
  const made = join(prefix, "node_modules", name);
  const flags = ["--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", prefix];
  await fetchOnce(made, command("npm", "install", ...flags, `${name}@${version}`));
  return join(prefix, "node_modules");
}

export const schemathesis = (...args: string[]): Command =>
  command(join(cache, "python/bin/schemathesis"), ...args);

/** openapi-generator for a language, into the folder `client`. */
function openapiGenerator(document: string, language: string, properties = "", ...more: string[]) {
  const args = ["generate", "-i", document, "-g", language, "-o", "client", ...more];
  return command(
    "java",
    "-jar",
    jar,
    ...args,
    `--additional-properties=packageName=client${properties}`,
  );
}

const maven = (...args: string[]) => command("mvn", "--quiet", "--batch-mode", ...args);

export const generators: readonly Generator[] = [
  {
    name: "python",
    needs: ["java", "mvn", "python3"],
    prepare: () => Promise.all([fetchJar(), fetchPython()]).then(() => undefined),
    build: (document) => [
      openapiGenerator(document, "python"),
      command(python, "-m", "compileall", "-q", "client/client"),
    ],
    run: (args) => ({ ...command(python, "sample.py", ...args), env: { PYTHONPATH: "client" } }),
  },
  {
    name: "openapi-python-client",
    needs: ["python3"],
    prepare: fetchPython,
    build: (document) => [
      command(
        ...([
          join(cache, "python/bin/openapi-python-client"),
          "generate",
          "--meta",
          "none",
        ] as const),
        ...["--path", document, "--output-path", "client"],
      ),
      command(python, "-m", "compileall", "-q", "client"),
    ],
    run: (args) => command(python, "sample.py", ...args),
  },
  {
    name: "go",
    needs: ["java", "mvn", "go"],
    prepare: fetchJar,
    build: (document) => [
      openapiGenerator(
        document,
        "go",
        ",withGoMod=false",
        "--global-property",
        "apiTests=false,modelTests=false",
      ),
      command("go", "mod", "tidy"),
      command("go", "build", "-o", "sample", "."),
    ],
    run: (args) => command("./sample", ...args),
  },
  {
    name: "oapi-codegen",
    needs: ["go"],
    prepare: () =>
      fetchOnce(join(cache, "oapi-codegen"), {
        ...command(
          "go",
          "install",
          "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
        ),
        env: { GOBIN: cache },
      }),
    build: (document) => [
      command("mkdir", "client"),
      command(
        ...([
          join(cache, "oapi-codegen"),
          "-generate",
          "types,client",
          "-package",
          "client",
        ] as const),
        ...["-o", "client/client.go", document],
      ),
      command("go", "mod", "tidy"),
      command("go", "build", "-o", "sample", "."),
    ],
    run: (args) => command("./sample", ...args),
  },
  {
    name: "java",
    needs: ["java", "mvn"],
    prepare: fetchJar,
    build: (document) => [
      openapiGenerator(
        ...([document, "java", ",invokerPackage=client,apiPackage=client.api"] as const),
        ...["--library", "native", "--model-package", "client.model"],
        "--additional-properties=useSingleRequestParameter=true",
      ),
      maven("compile"),
    ],
    run: (args) => maven("exec:java", `-Dexec.args=${args.join(" ")}`),
  },
  {
    name: "kotlin",
    needs: ["java", "mvn"],
    prepare: fetchJar,
    build: (document) => [openapiGenerator(document, "kotlin"), maven("compile")],
    run: (args) => maven("exec:java", `-Dexec.args=${args.join(" ")}`),
  },
  {
    name: "rust",
    needs: ["java", "mvn", "cargo"],
    prepare: fetchJar,
    build: (document) => [
      openapiGenerator(document, "rust", ",useSingleRequestParameter=true"),
      // So that a program can leave out what it does not send.
      command(
        "bash",
        "-c",
        `sed -i 's/derive(Clone, Debug)/derive(Clone, Debug, Default)/' client/src/apis/*_api.rs`,
      ),
      {
        ...command("cargo", "build", "--quiet"),
        env: { CARGO_TARGET_DIR: join(cache, "rust-target") },
      },
    ],
    run: (args) => command(join(cache, "rust-target/debug/sample"), ...args),
  },
];
