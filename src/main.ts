// The entry of the command line: parses arguments, runs a command and prints errors.

import { Command, CommanderError } from "commander";
import { addAdminCommands } from "./cli/admin-commands.ts";
import { checkValues } from "./cli/check-values.ts";
import { configOf, sourcesOf, withSettings } from "./cli/config-options.ts";
import type { NewOptions } from "./cli/new.ts";
import { addStoreCommands } from "./cli/store-commands.ts";
import { CliError, messageOf } from "./lib/cli-error.ts";
import { licenses, version } from "./lib/program.ts";
import { settings, takeStartByNpm } from "./server/config.ts";

// A command's module is loaded when the command runs, so that help and usage errors need not wait for it.
const program = new Command("restante")
  .description("A self-hosted resource server: POST it, GET it back.")
  .version(version)
  .exitOverride()
  .hook("preAction", (_, command) => checkValues(command))
  .showHelpAfterError("Add --help to see what is allowed.")
  .configureHelp({
    // The parser gets optional values in square brackets. The help shows them as required, which they are.
    optionTerm: ({ flags }) => flags.replace("[", "<").replace("]", ">"),
  });

const serveCommand = withSettings(program.command("serve"), Object.keys(settings))
  .description("Start the server.")
  .addHelpText("after", () => `\n${helpOfVariables()}`)
  .allowUnknownOption()
  .allowExcessArguments()
  .option(
    "--watch",
    "Reload when the config file, a definition or an action changes, for development.",
  )
  .action(async ({ watch = false }: { watch?: boolean }) => {
    const sources = sourcesOf(serveCommand);
    const config = configOf(serveCommand, sources);
    const { serve } = await import("./cli/serve.ts");
    await serve(config, sources, watch);
  });

program.command("worker", { hidden: true }).action(async () => {
  const { work } = await import("./server/worker.ts");
  await work();
});

program
  .command("licenses")
  .description("Print the license of this program, in a single executable with those of its parts.")
  .action(() => {
    process.stdout.write(`${licenses()}\n`);
  });

program
  .command("docs")
  .description("Print a page of the documentation, or the index of all pages.")
  .argument("[page]", "The name of the page, such as backup or reference/http.")
  .action(async (page?: string) => {
    const { printPage } = await import("./cli/docs.ts");
    printPage(page);
  });

program
  .command("new")
  .description("Write a small app with Vite and React, and its definitions, into a new folder.")
  .argument("<folder>", "Where to write it, such as my-app.")
  .option("--name <name>", "The name of its package (default: that of the folder).")
  .option("--json", "Print the result as JSON.")
  .action(async (folder: string, options: NewOptions) => {
    const { writeApp } = await import("./cli/new.ts");
    writeApp(folder, options);
  });

addAdminCommands(program);
addStoreCommands(program);

// `restante serve --help | head` closes the output early, which is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  // A server decides itself whether it goes on.
  if (["serve", "worker"].includes(process.argv[2] ?? "")) throw error;
  console.error(`Cannot write to standard output: ${messageOf(error)}`);
  process.exit(1);
});

endWithNpm();
program.parseAsync().catch((thrown: unknown) => {
  process.exitCode = reportError(thrown);
});

/** npm runs a shell in between, which exits on a signal and does not pass it on. */
function endWithNpm(): void {
  if (!takeStartByNpm()) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 200);
  watch.unref();
}

/** Some settings have no flag. */
function helpOfVariables(): string {
  const without = Object.values(settings).filter(({ flag }) => flag === undefined);
  return without.map(({ variable, about }) => `${variable}  ${about}`).join("\n");
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
