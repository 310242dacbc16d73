// The OpenAPI document's part about files: how they come, and how their bytes are asked for.

import { conditions, notModified, ofEveryone, validators } from "./answers.ts";
import { header, parameter, problems } from "./components.ts";

/** What a collection takes besides JSON, each with its shape; the last stands for any other type. */
export const uploadTypes = {
  "multipart/form-data": {
    schema: {
      type: "object",
      description:
        "The texts and files of a form. A text stands for what the schema of the collection says, and a file is shown as `{name, type, size, sha256, url}`; several under one name become a list.",
      additionalProperties: true,
    },
  },
  "*/*": { schema: { description: "The bytes of the one file of a new resource, in `file`." } },
};

const bytes = { "*/*": { schema: { description: "The bytes as they were sent, never coded." } } };
const fields = {
  ...validators,
  "Accept-Ranges": header("AcceptRanges"),
  "Content-Disposition": header("ContentDisposition"),
};

export const filePaths = {
  "/{collection}/{id}/{part}": {
    parameters: [parameter("collection"), parameter("id"), parameter("part")],
    get: {
      operationId: "getFile",
      summary: "The bytes of a file",
      description:
        "With the ETag of their hash. Who may read the resource may read its files. A single `Range` is answered with that part; several with the whole.",
      tags: ["Resources"],
      security: [{ bearer: ["{collection}:read"] }],
      parameters: [...conditions, parameter("ifMatch"), parameter("range"), parameter("ifRange")],
      responses: {
        200: { description: "The whole file.", headers: fields, content: bytes },
        206: {
          description: "The part of it that was asked for.",
          headers: { ...fields, "Content-Range": header("ContentRange") },
          content: bytes,
        },
        304: notModified,
        ...problems(...ofEveryone.filter((status) => status !== 406), 403, 404, 412, 416, 503),
      },
    },
  },
};
