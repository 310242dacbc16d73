// The command line: what is typed becomes a config and a call, what goes wrong becomes words.

import { Command, CommanderError } from "commander";
import { serve } from "./cli/serve.ts";
import { type CreateOptions, createToken, listTokens, revokeToken } from "./cli/token.ts";
import { printTypes } from "./cli/types.ts";
import { CliError, usageError } from "./lib/cli-error.ts";
import { newSecret } from "./model/token.ts";
import { version } from "./server/app.ts";
import {
  type Config,
  type ConfigError,
  configFile,
  processEnvironment,
  readConfig,
  settings,
} from "./server/config.ts";
import { work } from "./server/worker.ts";

const program = new Command("restante")
  .description("A self-hosted resource server: POST it, GET it back.")
  .version(version)
  .exitOverride()
  .showHelpAfterError("Add --help to see what is allowed.")
  .configureHelp({
    // The square brackets below are for the parser; to a person, a flag without its value is wrong.
    optionTerm: ({ flags }) => flags.replace("[", "<").replace("]", ">"),
  });

const serveCommand = withSettings(program.command("serve"), Object.keys(settings))
  .description("Start the server.")
  .addHelpText("after", () => `\n${settings.adminToken.variable}  ${settings.adminToken.about}`)
  .allowUnknownOption()
  .allowExcessArguments()
  .action(() => serve(configOf(serveCommand)));

program.command("worker", { hidden: true }).action(() => work());

const token = program
  .command("token")
  .description("Make, list and revoke tokens. Takes effect at once, also while a server runs.");

withSettings(token.command("create"), ["data", "store"])
  .description("Make a token and print its secret, which is shown only this once.")
  .option("--name <text>", "What the token is for.", "")
  .option(
    "--scope <scopes...>",
    "admin, {collection|*}:{read|create|update|delete|*} or action:{name|*}; several with spaces or commas between",
    [],
  )
  .option("--expires <when>", "30d, 12h, 90m, or a date such as 2030-01-31 (default: never)")
  .action((options: CreateOptions, command) => createToken(configOf(command), options));

withSettings(token.command("list"), ["data", "store"])
  .description("List all tokens, without their secrets.")
  .action((_, command) => listTokens(configOf(command)));

withSettings(token.command("revoke"), ["data", "store"])
  .description("Revoke a token; it ends at once.")
  .argument("<id>", "The token's id, as the list shows it.")
  .action((id: string, _, command) => revokeToken(configOf(command), id));

token
  .command("secret")
  .description(`Print a fresh secret, for ${settings.adminToken.variable}; nothing is stored.`)
  .action(() => console.log(newSecret()));

withSettings(program.command("types"), ["collections", "data", "store"])
  .description("Print TypeScript types: of a folder of definitions, or of what is in the store.")
  .action((_, command) => printTypes(configOf(command)));

// `restante serve --help | head` closes our output early, and that is nobody's fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

try {
  await program.parseAsync();
} catch (thrown) {
  process.exitCode = explain(thrown);
}

/** A flag for each setting. Its value is optional to the parser, so that we can name all that lack one. */
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
  const faults = [...unknownFlags(command), ...(Array.isArray(config) ? config : [])];
  if (Array.isArray(config) || faults.length > 0) throw usageError(faults);
  return config;
}

/** What was typed and is not ours: unknown flags (without what looks like their value) and words. */
function unknownFlags(command: Command): readonly ConfigError[] {
  const extra = command.args.slice(command.registeredArguments.length);
  const isFlag = (word: string | undefined) => word?.startsWith("-") ?? false;
  return extra
    .filter((word, index) => isFlag(word) || !isFlag(extra[index - 1]))
    .map((word) => ({ where: word, detail: `is unknown to restante ${command.name()}` }));
}

/** The exit code, after telling a person what is wrong. */
function explain(thrown: unknown): number {
  // It has told already, help and version included; its 1 for a wrong command line is our 2.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (!(thrown instanceof CliError)) throw thrown;
  console.error(thrown.message);
  if (thrown.code === 2) console.error("Add --help to see what is allowed.");
  return thrown.code;
}
