// Describes the commands that keep, move and check data. A command's module is loaded when it runs.

import type { Command } from "commander";
import type { BackupOptions, RestoreOptions } from "./backup.ts";
import { configOf, sourcesOf, withSettings } from "./config-options.ts";
import type { CopyOptions } from "./copy.ts";
import type { DemoOptions } from "./demo.ts";
import type { DoctorOptions } from "./doctor.ts";
import type { EraseFlags } from "./erase.ts";
import type { ImportOptions } from "./import.ts";
import type { ExportOptions } from "./read-collection.ts";

export function addStoreCommands(program: Command): void {
  withSettings(program.command("backup"), ["data", "store", "files"])
    .description(
      "Back up rows and files of one point in time, also while a server runs. In a folder with earlier backups only what is new is written.",
    )
    .requiredOption(
      "--to <path>",
      "A folder of backups, a bucket as s3://…, or an archive: .tar, .tar.gz or .tar.zst",
    )
    .option("--verify", "Read what earlier backups have written, and write again what is damaged.")
    .option("--keep <time>", "Delete backups in the folder that are older, such as 7d or 12h")
    .option("--json", "Print the result as JSON.")
    .action(async (options: BackupOptions, command) => {
      const config = configOf(command);
      const { runBackup } = await import("./backup.ts");
      await runBackup(config, options);
    });

  withSettings(program.command("restore"), ["data", "store", "files"])
    .description(
      "Restore a backup, as a whole or some collections. Everything is checked before anything is changed.",
    )
    .requiredOption("--from <path>", "A folder of backups, a bucket as s3://…, or an archive.")
    .option("--at <time>", "The newest backup that is not newer than this (default: the newest)")
    .option("--collection <names...>", "Only these collections, into the store that is there.")
    .option(
      "--overwrite",
      "Replace the store, or with --collection the collections, that are there.",
    )
    .option("--force", "Replace the database also while another program has it open.")
    .option("--check", "Only check that the backup is complete.")
    .option("--json", "Print the result as JSON.")
    .action(async (options: RestoreOptions, command) => {
      const config = configOf(command);
      const { runRestore } = await import("./backup.ts");
      await runRestore(config, options);
    });

  program
    .command("copy")
    .description(
      "Copy a whole store to another folder or to Postgres and back, also while a server runs. Run the same command again to continue after an interruption.",
    )
    .requiredOption("--from <store>", "A data folder, or postgres://…")
    .requiredOption("--to <store>", "A data folder, or postgres://…; it must be empty")
    .option(
      "--from-files <path>",
      "Where the files are: a folder or s3://… (default: files in the data folder)",
    )
    .option(
      "--to-files <path>",
      "Where the files go: a folder or s3://… (default: files in the data folder)",
    )
    .option("--follow", "Copy what changes until the server of the source has stopped.")
    .option("--json", "Print the result as JSON.")
    .action(async (options: CopyOptions) => {
      const { runCopy } = await import("./copy.ts");
      await runCopy(options);
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
      const { exportData } = await import("./export.ts");
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
      const { importData } = await import("./import.ts");
      await importData(config, path, options);
    });

  withSettings(program.command("erase"), ["data", "store", "files"])
    .description(
      "Erase resources, or everything of a subject, with every trace, also while a server runs.",
    )
    .argument("[paths...]", "The resources, such as /people/{id}")
    .option("--subject <text>", "Everything that this subject owns, its keys and its tokens.")
    .option("--dry-run", "Erase nothing; count what would be erased.")
    .option("--yes", "Do not ask before everything of a subject is erased.")
    .option("--wait <time>", "How long to wait for readers of what is erased", "1m")
    .option("--full", "Postgres: rewrite the tables, which nobody can use meanwhile.")
    .option("--json", "Print the result as JSON.")
    .action(async (paths: readonly string[], flags: EraseFlags, command) => {
      const config = configOf(command);
      const { eraseData } = await import("./erase.ts");
      await eraseData(config, paths, flags);
    });

  withSettings(program.command("doctor"), ["data", "store", "files"])
    .description(
      "Check the store, also while a server runs: folder, versions, clock, database, resources, indexes and files.",
    )
    .option("--quick", "Leave out what reads every row or file.")
    .option("--repair", "Repair what is safe, and check again. Stop the server of a folder first.")
    .option("--json", "Print the result as JSON.")
    .action(async (options: DoctorOptions, command) => {
      const config = configOf(command);
      const { runDoctor } = await import("./doctor.ts");
      await runDoctor(config, options);
    });

  withSettings(program.command("demo"), ["data", "store", "files", "host", "port", "logLevel"])
    .description(
      "Fill a shop to look around in: products with photos, customers and orders, also while a server runs.",
    )
    .option("--orders <count>", "How many orders", "5000")
    .option(
      "--serve",
      "Start a server on the folder, on the port or the next free one, and print a link that opens its console signed in.",
    )
    .option("--json", "Print the result as JSON.")
    .action(async (options: DemoOptions, command) => {
      const sources = sourcesOf(command);
      const config = configOf(command, sources);
      if (options.serve) {
        const { serveDemo } = await import("./demo-server.ts");
        await serveDemo(config, sources, options);
      } else {
        const { runDemo } = await import("./demo.ts");
        await runDemo(config, options);
      }
    });
}
