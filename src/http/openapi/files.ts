// Describes the operations on files.

import {
  collectionNameSchema,
  fileNameSchema,
  resourceIdSchema,
  resourceSchema,
} from "../../model/schemas/resource.ts";
import { signedUrlRequestSchema, signedUrlSchema } from "../../model/schemas/signed-url.ts";
import type { RouteOperation } from "../request/route.ts";
import { storedFileBytes } from "./formats.ts";
import { headers } from "./headers.ts";
import { parameters, preconditions } from "./parameters.ts";
import { json, jsonContent, noContent } from "./responses.ts";

export const pictureParameters = [
  parameters.width,
  parameters.height,
  parameters.fit,
  parameters.format,
  parameters.description,
];

const applied = { "Preference-Applied": headers.preferenceApplied };
const shown = { ...applied, "Content-Location": headers.contentLocation };

const path = { collection: collectionNameSchema, id: resourceIdSchema, name: fileNameSchema };

export const replaceFile = {
  path,
  summary: "Replace a file of a resource, or add one",
  description:
    "The body is the file, with its own Content-Type; `Content-Disposition` may carry its name. The resource must exist, and the schema decides about the file as it is shown in it. Of a list of files, `docs.2` replaces the second, and the number after the last adds one. Preconditions are about the ETag of the file.",
  parameters: [...preconditions, parameters.preferResource],
  body: storedFileBytes,
  responses: {
    200: json("The resource, if the client asked for it.", resourceSchema, shown),
    201: json("The file was added. The body is as with 200 and 204.", resourceSchema, {
      Location: headers.location,
      ETag: headers.unchangedEtag,
      ...shown,
    }),
    204: noContent("The file was replaced.", { ETag: headers.unchangedEtag, ...applied }),
  },
  problems: [404, 409, 412, 428],
} satisfies RouteOperation;

export const removeFile = {
  path,
  summary: "Remove a file of a resource",
  description:
    "The resource stays. The other files of a list keep their URLs. 409 when the schema requires the file.",
  parameters: preconditions,
  responses: { 204: noContent("The file was removed.") },
  problems: [404, 409, 412, 428],
} satisfies RouteOperation;

export const signFileUrl = {
  summary: "Sign the URL of a file",
  description:
    "For a caller who may read the file, where the definition says `signedUrls`. The URL reads this file for up to an hour, as its signer: it ends when the file is replaced, or when the signer's token or right to read it ends.",
  body: jsonContent(signedUrlRequestSchema),
  responses: { 200: json("The URL.", signedUrlSchema) },
  problems: [403, 404],
} as const;
