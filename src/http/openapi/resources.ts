// The OpenAPI document's part about resources: what is asked of them, one by one and together.

import type { Verb } from "../../model/token.ts";
import { maxOperations } from "../resources/batch.ts";
import {
  answer,
  body,
  commonHeaders,
  conditions,
  json,
  jsonBody,
  notModified,
  ofCallers,
  ofWriters,
  validators,
} from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { uploadTypes } from "./files.ts";
import { listFormats, manyAnswer, manyTypes } from "./formats.ts";
import { schema, text } from "./schemas.ts";

/** What operations are about: any collection, or a certain one. */
export interface Subject {
  readonly tag: string;
  readonly operationIds: Readonly<
    Record<"list" | "create" | "get" | "put" | "patch" | "remove", string>
  >;
  /** Where the resources are, in a summary's words. */
  readonly place: string;
  /** Their names. */
  readonly schemas: Readonly<Record<"resource" | "draft" | "replacement" | "patch", string>>;
  readonly aboutList: string;
  readonly listed: object;
  readonly listParameters: readonly object[];
  readonly idempotencyKey: object;
  /** Whether the other shapes of a body and of its answer are told; a typed client is better off without. */
  readonly isPreferable: boolean;
  readonly maxBodyBytes: number;
  /** What opens the door, as alternatives. */
  readonly security: (...verbs: readonly Verb[]) => readonly object[];
}

const preconditions = [
  parameter("ifMatch"),
  parameter("ifUnmodifiedSince"),
  parameter("ifNoneMatchToWrite"),
];

const preferred = { "Preference-Applied": header("PreferenceApplied") };
const replayed = { "Idempotency-Replayed": header("IdempotencyReplayed") };
const placed = { Location: header("Location"), "Content-Location": header("ContentLocation") };
const shown = { "Content-Location": header("ContentLocation") };
const preferences = ({ isPreferable }: Subject) =>
  isPreferable ? [parameter("fields"), parameter("prefer")] : [];
const minimal = ({ isPreferable }: Subject, headers: object) => {
  const description =
    "It is done. The caller sent `Prefer: return=minimal`, or may not read the resource.";
  return isPreferable ? { 204: { description, headers: { ...headers, ...preferred } } } : {};
};

const orNothing = ({ isPreferable }: Subject) =>
  isPreferable ? "; without a body if that was preferred, or if the caller may not read it." : ".";

/** A resource; where any collection is, also what `fields` leaves of it. */
const shownAs = ({ isPreferable, schemas }: Subject, description: string, headers: object) => {
  const whole = schema(schemas.resource);
  const shape = isPreferable ? { anyOf: [whole, schema("Selected")] } : whole;
  return answer(description, "application/json", shape, headers);
};

/** Forms are told of where any collection is: a typed client sends JSON. */
const draftTypes = ({ isPreferable, schemas }: Subject) => ({
  "application/json": schemas.draft,
  ...(isPreferable ? { "application/x-www-form-urlencoded": schemas.draft } : {}),
});

const draftBody = (subject: Subject) => {
  const { content, ...rest } = body(draftTypes(subject), subject.maxBodyBytes);
  const others = { ...manyTypes, ...uploadTypes };
  return { ...rest, content: subject.isPreferable ? { ...content, ...others } : content };
};

const redirected = ({ isPreferable }: Subject) => {
  const words =
    "It is created, and a form was sent by a browser, whose Accept prefers HTML: a page to go on to.";
  const headers = { ...commonHeaders, Location: header("NextPage"), ...replayed };
  return isPreferable ? { 303: answer(words, "text/html", text, headers) } : {};
};

/** The page as JSON; where any collection is, in the other formats as well. */
const listAnswer = (subject: Subject) => {
  const page = answer("The page.", "application/json", subject.listed, {
    ...validators,
    Link: header("Link"),
    "X-Total-Count": header("XTotalCount"),
  });
  const { content, ...rest } = page;
  return { ...rest, content: subject.isPreferable ? { ...content, ...listFormats } : content };
};

const many = ({ isPreferable }: Subject) => (isPreferable ? { 200: manyAnswer } : {});

export const list = (subject: Subject) => ({
  operationId: subject.operationIds.list,
  summary: `A page of ${subject.place}`,
  description: subject.aboutList,
  tags: [subject.tag],
  security: subject.security("read"),
  parameters: [...subject.listParameters, ...conditions],
  responses: {
    200: listAnswer(subject),
    304: notModified,
    ...problems(...ofCallers, 404, 410, 412),
  },
});

export const create = (subject: Subject) => ({
  operationId: subject.operationIds.create,
  summary: `Create a resource in ${subject.place}`,
  description:
    "The server decides the address; two equal POSTs make two resources, unless they have the same Idempotency-Key. 201 means that it is on disk.",
  tags: [subject.tag],
  security: subject.security("create"),
  parameters: [
    ...(subject.isPreferable ? [parameter("atomic")] : []),
    subject.idempotencyKey,
    ...preferences(subject),
  ],
  requestBody: draftBody(subject),
  responses: {
    ...many(subject),
    201: shownAs(subject, `The resource, as a GET of its address answers it${orNothing(subject)}`, {
      ...validators,
      ...placed,
      ...preferred,
      ...replayed,
    }),
    ...redirected(subject),
    ...problems(...ofWriters, 404, 409, 410, 422),
  },
});

export const get = (subject: Subject) => ({
  operationId: subject.operationIds.get,
  summary: `A resource of ${subject.place}`,
  tags: [subject.tag],
  security: subject.security("read"),
  parameters: [...(subject.isPreferable ? [parameter("fields")] : []), ...conditions],
  responses: {
    200: shownAs(subject, "The resource.", validators),
    304: notModified,
    ...problems(...ofCallers, 404, 412),
  },
});

export const put = (subject: Subject) => ({
  operationId: subject.operationIds.put,
  summary: `Create or replace a resource in ${subject.place}`,
  description:
    "The client decides the address. What is there is replaced, never merged. Creating needs the scope `create`, replacing `update`. The answer has no ETag, because what is stored is not what was sent byte for byte (RFC 9110 §9.3.4); GET has it.",
  tags: [subject.tag],
  security: subject.security("create", "update"),
  parameters: [...preconditions, ...preferences(subject)],
  requestBody: jsonBody(subject.schemas.replacement, subject.maxBodyBytes),
  responses: {
    200: shownAs(subject, "The resource, replaced.", {
      ...commonHeaders,
      ...shown,
      ...preferred,
    }),
    201: shownAs(subject, `The resource, created${orNothing(subject)}`, {
      ...commonHeaders,
      ...placed,
      ...preferred,
    }),
    ...minimal(subject, commonHeaders),
    ...problems(...ofWriters, 404, 409, 412, 428),
  },
});

export const patch = (subject: Subject) => ({
  operationId: subject.operationIds.patch,
  summary: `Change parts of a resource of ${subject.place}`,
  description:
    "All of the patch is applied or nothing. 409 when a JSON Patch does not fit the current state, a failed `test` included.",
  tags: [subject.tag],
  security: subject.security("update"),
  parameters: [...preconditions, ...preferences(subject)],
  requestBody: body(
    {
      "application/merge-patch+json": subject.schemas.patch,
      "application/json-patch+json": "JsonPatch",
      "application/json": subject.schemas.patch,
    },
    subject.maxBodyBytes,
  ),
  responses: {
    200: shownAs(subject, "The resource, changed.", {
      ...validators,
      ...shown,
      ...preferred,
    }),
    ...minimal(subject, validators),
    ...problems(...ofWriters, 404, 409, 412, 428),
  },
});

export const remove = (subject: Subject) => ({
  operationId: subject.operationIds.remove,
  summary: `Remove a resource of ${subject.place}`,
  tags: [subject.tag],
  security: subject.security("delete"),
  parameters: preconditions,
  responses: {
    204: { description: "It is gone.", headers: commonHeaders },
    ...problems(400, 401, 403, 404, 412, 414, 428, 500, 503, 507),
  },
});

/** Any collection, those that come into being included. */
const anySubject = (maxBodyBytes: number): Subject => ({
  tag: "Resources",
  operationIds: {
    list: "listResources",
    create: "createResource",
    get: "getResource",
    put: "putResource",
    patch: "patchResource",
    remove: "deleteResource",
  },
  place: "a collection",
  schemas: {
    resource: "Resource",
    draft: "Draft",
    replacement: "Replacement",
    patch: "MergePatch",
  },
  aboutList:
    "In the order of creation, unless `sort` or `q` say otherwise, and with an exact total; past the end it is empty. With `since`, the answer has what was written or removed after that position instead. The method QUERY (RFC 10008), which OpenAPI 3.1 cannot describe, takes the same question as a JSON body.",
  listed: { oneOf: [schema("Page"), schema("Feed")] },
  listParameters: [
    "page",
    "limit",
    "sort",
    "q",
    "cursor",
    "total",
    "fields",
    "since",
    "filters",
  ].map(parameter),
  idempotencyKey: parameter("idempotencyKey"),
  isPreferable: true,
  maxBodyBytes,
  security: (...verbs) => verbs.map((verb) => ({ bearer: [`{collection}:${verb}`] })),
});

export function resourcePaths(maxBodyBytes: number) {
  const subject = anySubject(maxBodyBytes);
  return {
    "/{collection}": {
      parameters: [parameter("collection")],
      get: list(subject),
      post: create(subject),
    },
    "/{collection}/{id}": {
      parameters: [parameter("collection"), parameter("id")],
      get: get(subject),
      put: put(subject),
      patch: patch(subject),
      delete: remove(subject),
    },
    "/-/batch": { post: batch(maxBodyBytes) },
  };
}

const batch = (maxBodyBytes: number) => ({
  operationId: "runBatch",
  summary: "Many changes as one",
  description: `1 to ${maxOperations} operations in one transaction: all of them happen, or none. Each is judged on the state that those before it leave, needs its own scope and may have its own precondition. A refusal is the problem of the first operation that could not be done, and \`errors\` has its place.`,
  tags: ["Resources"],
  security: [{ bearer: [] }],
  parameters: [parameter("fields"), parameter("idempotencyKey")],
  requestBody: jsonBody("Batch", maxBodyBytes),
  responses: {
    200: json("What became of each, in order.", "BatchResults", { ...commonHeaders, ...replayed }),
    ...problems(...ofWriters, 404, 409, 410, 412, 422, 428),
  },
});
