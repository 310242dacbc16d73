// Defines what a caller can ask to write, and what becomes of it.

import type { Draft } from "../../model/draft.ts";
import { noFiles, type StoredFile } from "../../model/file.ts";
import type { PatchKind } from "../../model/patch.ts";
import type { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";

/** A precondition of the client, evaluated against the current state as the client sees it. */
export interface WriteCondition {
  (current: Resource | undefined, access: CollectionAccess): boolean;
  /** Whether it compares entity tags. A date is too coarse: two changes can share a second. */
  readonly isByTag: boolean;
}

/** Of what creates, and does not replace. */
export const isNew: WriteCondition = Object.assign(
  (current: Resource | undefined) => current === undefined,
  { isByTag: true },
);

/** A precondition about the collection as the caller sees it. A problem says why it cannot be evaluated. */
export type CollectionPrecondition = (access: CollectionAccess) => Promise<boolean | Problem>;

/** Creates a resource with an id of the server. Its files are already on disk. */
export interface CreateOperation extends WithFiles {
  readonly kind: "create";
  readonly draft: Draft;
  /** Only where it is the one operation of a request. */
  readonly collectionCondition?: CollectionPrecondition | undefined;
}

interface Addressed {
  readonly id: string;
  readonly condition?: WriteCondition | undefined;
}

/** Files that were sent. They are already on disk. */
interface WithFiles {
  readonly files?: readonly StoredFile[];
}

interface Patching {
  readonly patchKind: PatchKind;
  readonly patch: string;
}

/** `put` creates or replaces, and never merges. The files of a patch replace those of their members. */
export type AddressedOperation =
  | (Addressed & WithFiles & { readonly kind: "put"; readonly draft: Draft })
  | (Addressed & WithFiles & Patching & { readonly kind: "patch" })
  | FileOperation
  /** Computes with the stored values. `operations` is JSON. */
  | (Addressed & { readonly kind: "operate"; readonly operations: string })
  | (Addressed & { readonly kind: "remove" });

/** Puts a file into its slot, or removes the file there. The condition is about the file. */
export interface FileOperation extends Addressed {
  readonly kind: "file";
  readonly slot: string;
  readonly file?: StoredFile | undefined;
}

export type PutOperation = Extract<AddressedOperation, { kind: "put" }>;

/** Makes the operation of a PATCH. */
export const patchOperation = (
  kind: PatchKind | "operations",
  text: string,
  target: Addressed,
): Extract<AddressedOperation, { kind: "patch" | "operate" }> =>
  kind === "operations"
    ? { kind: "operate", operations: text, ...target }
    : { kind: "patch", patchKind: kind, patch: text, ...target };

/** Creates or replaces the resource that has a value of a unique field. */
export interface UpsertOperation {
  readonly kind: "upsert";
  readonly field: string;
  /** The value in the URL. Without it, the value in the draft counts. */
  readonly text?: string;
  readonly draft: Draft;
  readonly condition?: WriteCondition | undefined;
}

export type Operation = CreateOperation | AddressedOperation | UpsertOperation;

/** An operation of an import: each creates or replaces a resource. */
export type BulkOperation = CreateOperation | UpsertOperation | PutOperation;

/** An operation of a batch, which can be for several collections. */
export type TargetedOperation = Operation & { readonly collection: string };

/** How much of a turn it takes to plan an operation: more than its bytes. */
export const workOf = (operation: Operation): number =>
  1_000 + ("draft" in operation ? operation.draft.fields.length : 0);

/** The files that an operation brings along. */
export const filesOf = (operation: Operation): readonly StoredFile[] =>
  "files" in operation
    ? (operation.files ?? noFiles)
    : operation.kind === "file" && operation.file
      ? [operation.file]
      : noFiles;

export interface Written {
  readonly kind: "written";
  readonly resource: Resource;
  /** The access that the write was validated with. Its rules decide how the resource is shown. */
  readonly access: CollectionAccess;
  readonly isNew: boolean;
  /** Whether this is the stored result of an earlier request with the same Idempotency-Key. */
  readonly isReplay: boolean;
}

export interface Removed {
  readonly kind: "removed";
}

export type WriteResult = Written | Removed;

/** The results of operations that were all done. */
export interface AllDone {
  readonly results: readonly WriteResult[];
  readonly isReplay: boolean;
}

/** An operation that was rejected, and why. */
export interface Refused {
  readonly index: number;
  readonly problem: Problem;
}
