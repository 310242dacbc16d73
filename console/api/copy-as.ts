// Writes a request as a command or as code. The token is named, never shown.

import { type ApiRequest, bodyOf, headersOf, urlOf } from "./client.ts";

export type Language = "curl" | "fetch" | "python";

/** Inside single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const readableUrl = (path: string): string => urlOf(path).href;

/** A body that is not text is sent from a file. */
function textBody(request: ApiRequest): string | undefined {
  const body = bodyOf(request);
  return body === undefined || typeof body === "string" ? body : undefined;
}

function asCurl(request: ApiRequest): string {
  const body = textBody(request);
  const fields = Object.entries(headersOf(request)).map(([name, value]) => `${name}: ${value}`);
  const method = request.method === "GET" ? [] : [`-X ${request.method}`];
  return [
    ["curl", ...method, quoted(readableUrl(request.path))].join(" "),
    `-H "Authorization: Bearer $TOKEN"`,
    ...fields.map((field) => `-H ${quoted(field)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(" \\\n  ");
}

function asFetch(request: ApiRequest): string {
  const body = textBody(request);
  const fields = Object.entries(headersOf(request)).map(
    ([name, value]) => `\n    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const method = request.method === "GET" ? "" : `\n  method: ${JSON.stringify(request.method)},`;
  const sent = body === undefined ? "" : `\n  body: JSON.stringify(${body}),`;
  return `const response = await fetch(${JSON.stringify(readableUrl(request.path))}, {${method}
  headers: {
    Authorization: \`Bearer \${token}\`,${fields.join("")}
  },${sent}
});
if (!response.ok) throw new Error((await response.json()).detail);
console.log(await response.json());`;
}

function asPython(request: ApiRequest): string {
  const body = textBody(request);
  const fields = Object.entries(headersOf(request)).map(
    ([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  const sent = body === undefined ? "" : `\n    data=${JSON.stringify(body)}.encode(),`;
  return `import os, requests

response = requests.request(
    ${JSON.stringify(request.method)}, ${JSON.stringify(readableUrl(request.path))},
    headers={"Authorization": f"Bearer {os.environ['TOKEN']}"${fields.join("")}},${sent}
)
response.raise_for_status()
print(response.json())`;
}

const writers: Readonly<Record<Language, (request: ApiRequest) => string>> = {
  curl: asCurl,
  fetch: asFetch,
  python: asPython,
};

export const copyAs = (language: Language, request: ApiRequest): string =>
  writers[language](request);
