// The command `settings`: prints the settings that a server would have, or the JSON Schema of the config file.

import type { SettingValue } from "../domain/settings.ts";
import { checkTlsSettings } from "../server/certificate.ts";
import type { Config } from "../server/config.ts";
import { describeSettings } from "../server/describe-settings.ts";
import { settingsSchema } from "../server/settings-schema.ts";

export interface SettingsOptions {
  readonly schema?: boolean;
  readonly json?: boolean;
}

export function printSettings(config: Config, { schema, json }: SettingsOptions): void {
  if (!schema) checkTlsSettings(config);
  const data = describeSettings(config);
  if (schema) print(settingsSchema());
  else if (json) print({ data });
  else process.stdout.write(data.map(lineOf).join(""));
}

const print = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
};

const lineOf = ({ name, value, source, from }: SettingValue): string =>
  `${name.padEnd(22)} ${JSON.stringify(value)}${source === "default" ? "" : `  (${from})`}\n`;
