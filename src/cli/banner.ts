// Builds the text that the terminal shows when the server has started: addresses, token and curl commands.

import { styleText } from "node:util";
import { linkHint } from "./console.ts";

export interface BannerInfo {
  readonly version: string;
  /** The URL of the server for clients on this machine. */
  readonly localUrl: string;
  readonly baseUrl: string | undefined;
  /** The path that the API is below. */
  readonly apiPath: string;
  /** The folder that is served beside it. */
  readonly website: string | undefined;
  /** Undefined when there is no console. */
  readonly consoleUrl: string | undefined;
  /** Opens the console signed in, once; only at the first start. */
  readonly signInLink: string | undefined;
  /** The command that prints another link. */
  readonly linkCommand: string;
  readonly data: string;
  /** Set only when it was just created. */
  readonly firstAdminToken: string | undefined;
  /** The command that creates another token. */
  readonly tokenCommand: string;
}

export function bannerText(info: BannerInfo): string {
  const { version, localUrl, baseUrl, apiPath, data } = info;
  const { website, firstAdminToken, tokenCommand } = info;
  const facts = [
    ["listening on", bold(localUrl)],
    ...(baseUrl === undefined ? [] : [["public URL", baseUrl]]),
    ...(website === undefined ? [] : [["website", website]]),
    ...(apiPath === "" ? [] : [["API", `${baseUrl ?? localUrl}${apiPath}`]]),
    ...consoleFacts(info),
    ["data", data],
    ...(firstAdminToken === undefined
      ? [["new token", `TOKEN=$(${tokenCommand})`]]
      : [
          ["admin token", bold(firstAdminToken)],
          ["", "It is shown only once: save it."],
        ]),
  ];
  const sections = [
    bold(`Restante ${version}`),
    facts.map(([name = "", value]) => `${faint(name.padEnd(14))}${value}`).join("\n"),
    ...curlCommands(info).map(
      ({ title, command }) => `${faint(title)}\n\n${command.join(" \\\n  ")}`,
    ),
  ];
  return `\n${indent(sections.join("\n\n"))}\n\n`;
}

function consoleFacts({ consoleUrl, signInLink, linkCommand }: BannerInfo) {
  if (consoleUrl === undefined) return [];
  return signInLink === undefined
    ? [
        ["console", consoleUrl],
        ["sign in", linkCommand],
      ]
    : [
        ["console", bold(signInLink)],
        ["", linkHint],
      ];
}

/**
 * The commands work in sh, bash and zsh. They have no comments, because zsh rejects them at the prompt.
 * The first command shows the response and stores it, so that the second finds its Location.
 */
function curlCommands({ localUrl, baseUrl, apiPath, firstAdminToken = "$TOKEN" }: BannerInfo) {
  const url = `${baseUrl ?? localUrl}${apiPath}`;
  const authorization = `-H "Authorization: Bearer ${firstAdminToken}"`;
  const location = `$(echo "$RESPONSE" | awk -F'[ \\r]' '/^[Ll]ocation:/ {print $2}')`;
  return [
    {
      title: "POST a person:",
      command: [
        `RESPONSE=$(curl -si "${url}/people"`,
        authorization,
        `-H "Content-Type: application/json"`,
        `-d '{"name":"Ada Lovelace","email":"ada@example.org"}'); echo "$RESPONSE"`,
      ],
    },
    {
      title: "GET it back:",
      // Location is an absolute path, unless there is a base URL.
      command: [
        `curl -si "${baseUrl === undefined ? localUrl : ""}${location}"`,
        `${authorization} -w '\\n'`,
      ],
    },
    {
      title: "List all people:",
      command: [`curl -s "${url}/people?page=1&limit=20"`, `${authorization} -w '\\n'`],
    },
  ];
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

// With the stream given, there are no colours when NO_COLOR is set or the terminal has none.
const bold = (text: string): string => styleText("bold", text, { stream: process.stdout });
const faint = (text: string): string => styleText("dim", text, { stream: process.stdout });
