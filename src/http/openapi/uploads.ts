// Describes the resource of a resumable upload in the OpenAPI document.

import { resourceSchema } from "../../model/schemas/resource.ts";
import { partialType } from "../headers/upload-fields.ts";
import { headers, writtenValidators } from "./headers.ts";
import { parameters } from "./parameters.ts";
import { json, noContent } from "./responses.ts";

const path = { id: { type: "string", pattern: "^[0-9a-f]{32}$" } };

const state = {
  "Upload-Offset": headers.uploadOffset,
  "Upload-Complete": headers.uploadComplete,
  "Upload-Length": headers.uploadLength,
  "Upload-Limit": headers.uploadLimit,
};
/** The response to the original request. */
const done = {
  ...writtenValidators,
  "Upload-Offset": headers.uploadOffset,
  "Upload-Complete": headers.uploadComplete,
  "Content-Location": headers.contentLocation,
  "Preference-Applied": headers.preferenceApplied,
  "Idempotency-Replayed": headers.idempotencyReplayed,
};

export const showUpload = {
  summary: "The state of a resumable upload",
  description:
    "Usually asked with HEAD: how many bytes have arrived, and whether the upload is complete (draft-ietf-httpbis-resumable-upload). Ends a transfer to it that is in progress. After completion `Location` is the URL of the result.",
  path,
  responses: {
    204: noContent("The state.", { ...state, Location: headers.uploadResult }),
  },
  problems: [404, 413],
} as const;

export const append = {
  summary: "Append to a resumable upload",
  description:
    "Appends the body at `Upload-Offset`, which must be the number of bytes that have arrived. What arrives before an interruption stays. With `Upload-Complete: ?1` the request that began the upload is carried out, and the response is its response.",
  path,
  parameters: [parameters.uploadOffset, parameters.uploadComplete, parameters.uploadLength],
  body: { [partialType]: { schema: { type: "string", format: "binary" } } },
  responses: {
    200: json("The changed resource: the upload is complete.", resourceSchema, done),
    201: json("The created resource: the upload is complete.", resourceSchema, {
      ...done,
      Location: headers.location,
    }),
    204: noContent("The bytes are stored, and the upload is not complete.", state),
  },
  problems: [403, 404, 406, 408, 409, 410, 412, 422, 428],
} as const;

export const cancel = {
  summary: "Cancel a resumable upload",
  path,
  description: "409 when another request is completing it.",
  responses: { 204: noContent("Its bytes are removed.") },
  problems: [404, 409],
} as const;
