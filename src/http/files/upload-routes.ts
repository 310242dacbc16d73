// The routes of resumable uploads.

import { append, cancel, showUpload } from "../openapi/uploads.ts";
import { type Routes, route } from "../request/route.ts";
import { appendToUpload, deleteUpload, getUpload } from "./upload-resource.ts";

export const uploadRoutes = {
  getUpload: route("GET /-/uploads/{id}", "optional-token", getUpload, showUpload),
  appendToUpload: route("PATCH /-/uploads/{id}", "optional-token", appendToUpload, append),
  deleteUpload: route("DELETE /-/uploads/{id}", "optional-token", deleteUpload, cancel),
} satisfies Routes;
