// Describes uploads and the download of files in the OpenAPI document.

import { conditions, notModified, publicProblems, validators } from "./answers.ts";
import { header, parameter, problems } from "./components.ts";

/** The media types of uploads; the last stands for any other type. */
export const uploadTypes = {
  "multipart/form-data": {
    schema: {
      type: "object",
      description:
        "The texts and files of a form. The collection's schema gives the type of a text, and a file is shown as `{name, type, size, sha256, url}`; several with one name become an array.",
      additionalProperties: true,
    },
  },
  "*/*": { schema: { description: "The bytes of the one file of a new resource, in `file`." } },
};

const bytes = {
  "*/*": { schema: { description: "The bytes as they were sent, without content coding." } },
};
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
        "The ETag is the hash of the bytes. A caller who may read the resource may read its files. A single `Range` returns that part; several return the whole file.",
      tags: ["Resources"],
      security: [{ bearer: ["{collection}:read"] }],
      parameters: [...conditions, parameter("ifMatch"), parameter("range"), parameter("ifRange")],
      responses: {
        200: { description: "The whole file.", headers: fields, content: bytes },
        206: {
          description: "The requested range.",
          headers: { ...fields, "Content-Range": header("ContentRange") },
          content: bytes,
        },
        304: notModified,
        ...problems(...publicProblems.filter((status) => status !== 406), 403, 404, 412, 416, 503),
      },
    },
  },
};
