// The entry of the command line: parses arguments, runs a command and prints errors.

import { Command, CommanderError } from "commander";
import type { TestOptions } from "./cli/access.ts";
import type { BackupOptions, RestoreOptions } from "./cli/backup.ts";
import type { DefinitionsOptions } from "./cli/definitions.ts";
import type { ImportOptions } from "./cli/import.ts";
import type { ExportOptions } from "./cli/read-collection.ts";
import type { CreateOptions } from "./cli/token.ts";
import { CliError, usageError } from "./lib/cli-error.ts";
import { newSecret } from "./model/token.ts";
import {
  type Config,
  type ConfigError,
  configFile,
  processEnvironment,
  readConfig,
  settings,
} from "./server/config.ts";
import { version } from "./server/version.ts";

/** The variable with the token of a server that definitions are read from. A flag would be visible to other users. */
const fromTokenVariable = "RESTANTE_FROM_TOKEN";

// A command's module is loaded when the command runs, so that help and usage errors need not wait for it.
const program = new Command("restante")
  .description("A self-hosted resource server: POST it, GET it back.")
  .version(version)
  .exitOverride()
  .showHelpAfterError("Add --help to see what is allowed.")
  .configureHelp({
    // The parser gets optional values in square brackets. The help shows them as required, which they are.
    optionTerm: ({ flags }) => flags.replace("[", "<").replace("]", ">"),
  });

const serveCommand = withSettings(program.command("serve"), Object.keys(settings))
  .description("Start the server.")
  .addHelpText("after", () => `\n${settings.adminToken.variable}  ${settings.adminToken.about}`)
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async () => {
    const config = configOf(serveCommand);
    const { serve } = await import("./cli/serve.ts");
    await serve(config);
  });

program.command("worker", { hidden: true }).action(async () => {
  const { work } = await import("./server/worker.ts");
  await work();
});

const token = program
  .command("token")
  .description(
    "Create, list and revoke tokens. Changes take effect at once, also while a server runs.",
  );

withSettings(token.command("create"), ["data", "store"])
  .description("Create a token and print its secret. The secret is shown only once.")
  .option("--name <text>", "What the token is for.", "")
  .option(
    "--scope <scopes...>",
    "admin, {collection|*}:{read|create|update|delete|*} or action:{name|*}; separate several by spaces or commas",
    [],
  )
  .option(
    "--role <names...>",
    "Roles, which give the scopes that the access document names; separate several by spaces or commas",
    [],
  )
  .option(
    "--subject <text>",
    "Whom the token stands for: the owner of what it creates (default: its id)",
  )
  .option("--expires <when>", "30d, 12h, 90m, or a date such as 2030-01-31 (default: never)")
  .action(async (options: CreateOptions, command) => {
    const config = configOf(command);
    const { createToken } = await import("./cli/token.ts");
    await createToken(config, options);
  });

withSettings(token.command("list"), ["data", "store"])
  .description("List all tokens, without their secrets.")
  .action(async (_, command) => {
    const config = configOf(command);
    const { listTokens } = await import("./cli/token.ts");
    await listTokens(config);
  });

withSettings(token.command("revoke"), ["data", "store"])
  .description("Revoke a token. It stops working at once.")
  .argument("<id>", "The token's id, as the list shows it.")
  .action(async (id: string, _, command) => {
    const config = configOf(command);
    const { revokeToken } = await import("./cli/token.ts");
    await revokeToken(config, id);
  });

token
  .command("secret")
  .description(`Print a new secret for ${settings.adminToken.variable}. Nothing is stored.`)
  .action(() => console.log(newSecret()));

withSettings(program.command("types"), ["collections", "data", "store"])
  .description(
    "Print TypeScript types of the collections in a folder of definitions or in the store.",
  )
  .action(async (_, command) => {
    const config = configOf(command);
    const { printTypes } = await import("./cli/types.ts");
    await printTypes(config);
  });

withSettings(
  program.command("access").description("Test the rules of collections.").command("test"),
  ["collections", "data", "store"],
)
  .description(
    "Try a table of who, verb, state and expected answer, with the rules in a folder of definitions or in the store. Nothing there is changed.",
  )
  .argument("<file>", "A JSON file with the cases.")
  .option("--json", "Print the results as JSON.")
  .action(async (file: string, options: TestOptions, command) => {
    const config = configOf(command);
    const { testAccess } = await import("./cli/access.ts");
    await testAccess(config, file, options);
  });

withSettings(program.command("backup"), ["data", "store", "files"])
  .description(
    "Back up rows and files of one point in time, also while a server runs. In a folder with earlier backups only what is new is written.",
  )
  .requiredOption("--to <path>", "A folder of backups, or an archive: .tar, .tar.gz or .tar.zst")
  .option("--verify", "Read what earlier backups have written, and write again what is damaged.")
  .option("--keep <time>", "Delete backups in the folder that are older, such as 7d or 12h")
  .option("--json", "Print the result as JSON.")
  .action(async (options: BackupOptions, command) => {
    const config = configOf(command);
    const { runBackup } = await import("./cli/backup.ts");
    await runBackup(config, options);
  });

withSettings(program.command("restore"), ["data", "store", "files"])
  .description(
    "Restore a backup, as a whole or some collections. Everything is checked before anything is changed.",
  )
  .requiredOption("--from <path>", "A folder of backups, or an archive.")
  .option("--at <time>", "The newest backup that is not newer than this (default: the newest)")
  .option("--collection <names...>", "Only these collections, into the store that is there.")
  .option("--overwrite", "Replace the store, or with --collection the collections, that are there.")
  .option("--check", "Only check that the backup is complete.")
  .option("--json", "Print the result as JSON.")
  .action(async (options: RestoreOptions, command) => {
    const config = configOf(command);
    const { runRestore } = await import("./cli/backup.ts");
    await runRestore(config, options);
  });

withSettings(program.command("export"), ["data", "store", "files"])
  .description(
    "Write a collection, a query or the whole server to files, also while a server runs.",
  )
  .option("--collection <name>", "The collection; without it the whole server, to a folder.")
  .requiredOption(
    "--to <path>",
    "people.ndjson, people.csv.gz, a folder, or - for standard output.",
  )
  .option("--query <parameters>", "What to export, as in a URL: status=paid&sort=-createdAt")
  .option("--format <name>", "ndjson or csv, also with .gz or .zst (default: by the file name)")
  .option("--overwrite", "Replace the folder of an earlier export.")
  .option("--json", "Print the result as JSON.")
  .action(async (options: ExportOptions, command) => {
    const config = configOf(command);
    const { exportData } = await import("./cli/export.ts");
    await exportData(config, options);
  });

withSettings(program.command("import"), ["data", "store", "files"])
  .description(
    "Write the lines of a file to a collection, or a whole export back, also while a server runs.",
  )
  .argument(
    "<path>",
    "A file of NDJSON or CSV, also .gz or .zst, - for standard input, or the folder of an export.",
  )
  .option("--collection <name>", "Where to; it is created when it does not exist.")
  .option("--key <field>", "Create or replace by this unique field, or by id.")
  .option("--dry-run", "Write nothing; say what would be created, replaced and rejected.")
  .option("--format <name>", "ndjson or csv, also with .gz or .zst (default: by the file name)")
  .option("--types <how>", "CSV: what a value without a type in the schema is: text or infer")
  .option("--separator <name>", "CSV: comma, semicolon or tab (default: as in the header row)")
  .option("--encoding <name>", "CSV: utf-8 or windows-1252 (default: utf-8)")
  .option("--json", "Print the result as JSON.")
  .action(async (path: string, options: ImportOptions, command) => {
    const config = configOf(command);
    const { importData } = await import("./cli/import.ts");
    await importData(config, path, options);
  });

const definitions = program
  .command("definitions")
  .description("Compare and apply the definitions of a folder, another store or another server.");

for (const [name, about] of [
  [
    "diff",
    "Show what applying would change, and what resources would violate. Ends with 1 if something differs.",
  ],
  ["apply", "Apply what differs, with a question or a flag if something is lost or violated."],
] as const) {
  const command = withSettings(definitions.command(name), ["data", "store", "files", "collections"])
    .description(about)
    .option(
      "--from <source>",
      `Instead of --collections: a data folder, the folder of an export, postgres://…, or the https://… of a server, with an admin token of it in ${fromTokenVariable}`,
    )
    .option("--prune", "Also delete collections that the source does not have.")
    .option("--json", "Print the result as JSON.");
  if (name === "apply")
    command
      .option("--yes", "Do not ask about resources that violate a definition.")
      .option("--allow-destructive", "Do not ask about what is lost.");
  command.action(async (options: DefinitionsOptions) => {
    const config = configOf(command);
    const { diffDefinitions, applyDefinitions } = await import("./cli/definitions.ts");
    const run = name === "diff" ? diffDefinitions : applyDefinitions;
    await run(config, options, processEnvironment()[fromTokenVariable]);
  });
}

// `restante serve --help | head` closes the output early, which is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

try {
  await program.parseAsync();
} catch (thrown) {
  process.exitCode = reportError(thrown);
}

/** Adds a flag for each setting. The parser sees the value as optional, so that all missing values are reported. */
function withSettings(command: Command, names: readonly string[]): Command {
  const chosen = Object.entries(settings).filter(([name]) => names.includes(name));
  for (const [, { flag, placeholder, about, variable, fallback, type }] of chosen) {
    if (flag === undefined) continue;
    const origin = fallback ? `${variable}, default: ${fallback}` : variable;
    const join = (text: string, before?: string) =>
      before === undefined || type !== "list" ? text : `${before},${text}`;
    command.option(`${flag} [${placeholder}]`, `${about} (${origin})`, join);
  }
  const { flag, placeholder, about, variable, fallback } = configFile;
  const origin = `${variable}, default: ./${fallback} if it is there`;
  return command.option(`${flag} [${placeholder}]`, `${about} (${origin})`);
}

function configOf(command: Command): Config {
  const environment = processEnvironment();
  const config = readConfig({ flags: command.opts(), environment, cwd: process.cwd() });
  const errors = [...unknownFlags(command), ...(Array.isArray(config) ? config : [])];
  if (Array.isArray(config) || errors.length > 0) throw usageError(errors);
  return config;
}

/** Returns unknown flags (without what looks like their value) and extra arguments. */
function unknownFlags(command: Command): readonly ConfigError[] {
  const extra = command.args.slice(command.registeredArguments.length);
  const isFlag = (word: string | undefined) => word?.startsWith("-") ?? false;
  return extra
    .filter((word, index) => isFlag(word) || !isFlag(extra[index - 1]))
    .map((word) => ({ where: word, detail: `is unknown to restante ${command.name()}` }));
}

/** Prints what is wrong and returns the exit code. */
function reportError(thrown: unknown): number {
  // Commander has printed its message already. Its exit code 1 for wrong arguments is 2 here.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (!(thrown instanceof CliError)) throw thrown;
  console.error(thrown.message);
  if (thrown.code === 2) console.error("Add --help to see what is allowed.");
  return thrown.code;
}
