// Names each schema as it is called in the OpenAPI document.

import type { ObjectSchema } from "../../lib/schema/subschemas.ts";
import { acceptedSchema, actionListSchema, actionSchema } from "../action-schema.ts";
import { definitionSchema } from "../definition-schema.ts";
import { accessDocumentSchema } from "./access.ts";
import {
  accessQuerySchema,
  accessReportSchema,
  conditionReportSchema,
  grantReportSchema,
  ownRightsSchema,
} from "./access-query.ts";
import { backupListSchema, backupRunSchema } from "./backup.ts";
import {
  batchOperationSchema,
  batchResultSchema,
  batchResultsSchema,
  batchSchema,
} from "./batch.ts";
import {
  collectionListSchema,
  collectionSchema,
  definedCollectionSchema,
  seenResourcesSchema,
  violationSchema,
  violationsSchema,
} from "./collection.ts";
import { feedSchema, removedResourceSchema, writtenResourceSchema } from "./feed.ts";
import { operationsSchema } from "./operations.ts";
import { jsonPatchOperationSchema, jsonPatchSchema, mergePatchSchema } from "./patch.ts";
import { errorDetailSchema, problemSchema } from "./problem.ts";
import { querySchema, whereSchema } from "./query.ts";
import {
  draftSchema,
  groupListSchema,
  pageSchema,
  replacementSchema,
  resourceSchema,
} from "./resource.ts";
import { healthSchema, homeSchema } from "./server.ts";
import { reloadedSchema, settingListSchema, settingSchema } from "./setting.ts";
import { signedUrlRequestSchema, signedUrlSchema } from "./signed-url.ts";
import { slowQueryListSchema, slowQuerySchema } from "./slow-query.ts";
import { statusSchema, taskSchema } from "./status.ts";
import {
  issuedTokenSchema,
  signInCodeSchema,
  tokenListSchema,
  tokenRequestSchema,
  tokenSchema,
} from "./token.ts";

/** Every schema of the API that has a name, except those of the user's collections and actions. */
export const schemaComponents: Readonly<Record<string, ObjectSchema>> = {
  Draft: draftSchema,
  Replacement: replacementSchema,
  Resource: resourceSchema,
  Page: pageSchema,
  Query: querySchema,
  Where: whereSchema,
  GroupList: groupListSchema,
  Feed: feedSchema,
  WrittenResource: writtenResourceSchema,
  RemovedResource: removedResourceSchema,
  MergePatch: mergePatchSchema,
  JsonPatch: jsonPatchSchema,
  JsonPatchOperation: jsonPatchOperationSchema,
  Operations: operationsSchema,
  Batch: batchSchema,
  BatchOperation: batchOperationSchema,
  BatchResults: batchResultsSchema,
  BatchResult: batchResultSchema,
  Definition: definitionSchema,
  Collection: collectionSchema,
  CollectionList: collectionListSchema,
  DefinedCollection: definedCollectionSchema,
  Violations: violationsSchema,
  Violation: violationSchema,
  SeenResources: seenResourcesSchema,
  AccessDocument: accessDocumentSchema,
  AccessQuery: accessQuerySchema,
  AccessReport: accessReportSchema,
  GrantReport: grantReportSchema,
  ConditionReport: conditionReportSchema,
  OwnRights: ownRightsSchema,
  Status: statusSchema,
  Task: taskSchema,
  BackupList: backupListSchema,
  BackupRun: backupRunSchema,
  Setting: settingSchema,
  SettingList: settingListSchema,
  ReloadedSettings: reloadedSchema,
  SlowQuery: slowQuerySchema,
  SlowQueryList: slowQueryListSchema,
  SignedUrlRequest: signedUrlRequestSchema,
  SignedUrl: signedUrlSchema,
  TokenRequest: tokenRequestSchema,
  SignInCode: signInCodeSchema,
  Token: tokenSchema,
  IssuedToken: issuedTokenSchema,
  TokenList: tokenListSchema,
  Action: actionSchema,
  ActionList: actionListSchema,
  Accepted: acceptedSchema,
  Home: homeSchema,
  Health: healthSchema,
  Problem: problemSchema,
  ErrorDetail: errorDetailSchema,
};
