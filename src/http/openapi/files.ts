// Describes the operations on files.

import { signedUrlRequestSchema, signedUrlSchema } from "../../model/schemas/signed-url.ts";
import { json, jsonContent } from "./responses.ts";

export const signFileUrl = {
  summary: "Sign the URL of a file",
  description:
    "For a caller who may read the file, where the definition says `signedUrls`. The URL reads this file for up to an hour, as its signer: it ends when the file is replaced, or when the signer's token or right to read it ends.",
  body: jsonContent(signedUrlRequestSchema),
  responses: { 200: json("The URL.", signedUrlSchema) },
  problems: [403, 404],
} as const;
