// Describes the commands for tokens, the console, rules, definitions and measurements. A command's module is loaded when it runs.

import { type Command, Option } from "commander";
import { newSecret } from "../model/secret.ts";
import { processEnvironment, settings } from "../server/config.ts";
import type { TestOptions } from "./access.ts";
import { configOf, withSettings } from "./config-options.ts";
import type { DefinitionsOptions } from "./definitions.ts";
import type { HealthOptions } from "./health.ts";
import type { SettingsOptions } from "./settings.ts";
import type { CreateTokenOptions } from "./token.ts";

/** The variable with the token of a server that definitions are read from. A flag would be visible to other users. */
const fromTokenVariable = "RESTANTE_FROM_TOKEN";

export function addAdminCommands(program: Command): void {
  addTokenCommands(program);
  withSettings(program.command("console"), [
    "data",
    "store",
    "host",
    "port",
    "baseUrl",
    "public",
    "apiPath",
    "consolePort",
  ])
    .description("Print a link that opens the web console signed in: once, within 15 minutes.")
    .action(async (_, command) => {
      const config = configOf(command);
      const { printConsoleLink } = await import("./console.ts");
      await printConsoleLink(config);
    });

  withSettings(program.command("types"), ["collections", "data", "store"])
    .description(
      "Print TypeScript types of the collections in a folder of definitions or in the store.",
    )
    .action(async (_, command) => {
      const config = configOf(command);
      const { printTypes } = await import("./types.ts");
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
      const { testAccess } = await import("./access.ts");
      await testAccess(config, file, options);
    });
  addDefinitionsCommands(program);
  addSettingsCommand(program);
  addHealthCommand(program);
}

function addSettingsCommand(program: Command): void {
  withSettings(program.command("settings"), Object.keys(settings))
    .description("Print the settings that a server would have, without secrets.")
    .option("--json", "Print them as JSON.")
    .option("--schema", "Print the JSON Schema of the config file, for editors.")
    .action(async (options: SettingsOptions, command) => {
      const config = configOf(command);
      const { printSettings } = await import("./settings.ts");
      printSettings(config, options);
    });
}

function addHealthCommand(program: Command): void {
  withSettings(program.command("health"), [
    ...["host", "port", "tlsCert", "tlsKey", "public", "apiPath"],
  ])
    .description(
      "Ask the server of these settings whether it is alive, for health checks. Ends with 1 if it is not.",
    )
    .option("--ready", "Ask whether it can serve requests, writes included.")
    .option("--json", "Print the answer as JSON.")
    .action(async (options: HealthOptions, command) => {
      const config = configOf(command);
      const { checkHealth } = await import("./health.ts");
      await checkHealth(config, options);
    });
}

function addTokenCommands(program: Command): void {
  const token = program
    .command("token")
    .description(
      "Create, list and revoke tokens. Changes take effect immediately, also while a server runs.",
    );

  withSettings(token.command("create"), ["data", "store"])
    .description("Create a token and print its secret. The secret is shown only once.")
    .addOption(new Option("--name <text>", "What the token is for.").default("", "none"))
    .addOption(
      new Option(
        "--scope <scopes...>",
        "admin, metrics, {collection|*}:{read|create|update|delete|*} or action:{name|*}; separate several by spaces or commas",
      ).default([], "none"),
    )
    .addOption(
      new Option(
        "--role <names...>",
        "Roles, which give the scopes that the access document names; separate several by spaces or commas",
      ).default([], "none"),
    )
    .option(
      "--subject <text>",
      "Whom the token stands for: the owner of what it creates (default: its id)",
    )
    .option("--expires <when>", "30d, 12h, 90m, or a date such as 2030-01-31 (default: never)")
    .action(async (options: CreateTokenOptions, command) => {
      const config = configOf(command);
      const { createToken } = await import("./token.ts");
      await createToken(config, options);
    });

  withSettings(token.command("list"), ["data", "store"])
    .description("List all tokens, without their secrets.")
    .action(async (_, command) => {
      const config = configOf(command);
      const { listTokens } = await import("./token.ts");
      await listTokens(config);
    });

  withSettings(token.command("revoke"), ["data", "store"])
    .description("Revoke a token. It stops working immediately.")
    .argument("<id>", "The token's id, as the list shows it.")
    .action(async (id: string, _, command) => {
      const config = configOf(command);
      const { revokeToken } = await import("./token.ts");
      await revokeToken(config, id);
    });

  token
    .command("secret")
    .description(`Print a new secret for ${settings.adminToken.variable}. Nothing is stored.`)
    .action(() => {
      process.stdout.write(`${newSecret()}\n`);
    });
}

function addDefinitionsCommands(program: Command): void {
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
    const command = withSettings(definitions.command(name), [
      "data",
      "store",
      "files",
      "collections",
    ])
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
      const { diffDefinitions, applyDefinitions } = await import("./definitions.ts");
      const run = name === "diff" ? diffDefinitions : applyDefinitions;
      await run(config, options, processEnvironment()[fromTokenVariable]);
    });
  }
}
