// Describes the operations on the access document.

import { accessDocumentSchema } from "../../model/schemas/access.ts";
import type { RouteOperation } from "../request/route.ts";
import { headers } from "./headers.ts";
import { parameters } from "./parameters.ts";
import { json, jsonContent, noContent } from "./responses.ts";

const tag = { ETag: headers.etag };
const document = json("The document.", accessDocumentSchema, tag);
const putTag = { ETag: headers.unchangedEtag };

/** Its path has no parameters. */
type FixedOperation = RouteOperation & { readonly path?: never };

export const showAccessDocument: FixedOperation = {
  summary: "The access document",
  description: "The roles, and the scopes that each gives.",
  parameters: [parameters.ifNoneMatch, parameters.ifMatch],
  responses: { 200: document, 304: noContent("The client has the current state.", tag) },
  problems: [412],
};

export const replaceAccessDocument: FixedOperation = {
  summary: "Replace the access document",
  description:
    "Takes effect with the next request of each caller. A member that is left out has its default.",
  parameters: [parameters.ifMatch, parameters.ifNoneMatchToWrite],
  body: jsonContent(accessDocumentSchema),
  responses: { 200: json("The document.", accessDocumentSchema, putTag) },
  problems: [412],
};
