// What a person sees on the terminal when the server has started: where it is, and what to paste.

import { styleText } from "node:util";

export interface BannerInfo {
  readonly version: string;
  /** Where a client on this machine reaches the server. */
  readonly localUrl: string;
  readonly baseUrl: string | undefined;
  readonly data: string;
  /** Only when it was just made. */
  readonly firstAdminToken: string | undefined;
  /** What to type to make another token. */
  readonly tokenCommand: string;
}

export function bannerText(welcome: BannerInfo): string {
  const { version, localUrl, baseUrl, data, firstAdminToken, tokenCommand } = welcome;
  const facts = [
    ["listens on", bold(localUrl)],
    ...(baseUrl === undefined ? [] : [["known as", baseUrl]]),
    ["keeps in", data],
    ...(firstAdminToken === undefined
      ? [["new token", `TOKEN=$(${tokenCommand})`]]
      : [
          ["admin token", bold(firstAdminToken)],
          ["", "shown only this once: keep it"],
        ]),
  ];
  const sections = [
    bold(`Restante ${version}`),
    facts.map(([name = "", value]) => `${faint(name.padEnd(13))}${value}`).join("\n"),
    ...curlCommands(welcome).map(
      ({ title, command }) => `${faint(title)}\n\n${command.join(" \\\n  ")}`,
    ),
  ];
  return `\n${indent(sections.join("\n\n"))}\n\n`;
}

/**
 * For sh, bash and zsh as they stand, so without comments, which zsh refuses at the prompt. The
 * first command shows the whole answer and keeps it, for the second to find its Location.
 */
function curlCommands({ localUrl, baseUrl, firstAdminToken = "$TOKEN" }: BannerInfo) {
  const url = baseUrl ?? localUrl;
  const authorization = `-H "Authorization: Bearer ${firstAdminToken}"`;
  const location = `$(echo "$ANSWER" | awk -F'[ \\r]' '/^[Ll]ocation:/ {print $2}')`;
  return [
    {
      title: "POST a person:",
      command: [
        `ANSWER=$(curl -si "${url}/people"`,
        authorization,
        `-H "Content-Type: application/json"`,
        `-d '{"name":"Ada Lovelace","email":"ada@example.org"}'); echo "$ANSWER"`,
      ],
    },
    {
      title: "GET her back:",
      // Location is an absolute path, unless there is a base URL.
      command: [
        `curl -si "${baseUrl === undefined ? localUrl : ""}${location}"`,
        `${authorization} -w '\\n'`,
      ],
    },
    {
      title: "List everyone:",
      command: [`curl -s "${url}/people?page=1&limit=20"`, `${authorization} -w '\\n'`],
    },
  ];
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

// With the stream, colours stay away where NO_COLOR or a plain terminal does not want them.
const bold = (text: string): string => styleText("bold", text, { stream: process.stdout });
const faint = (text: string): string => styleText("dim", text, { stream: process.stdout });
