// Puts one file into a resource or takes one away, as a patch of the member that shows it.

import { fileMembers, memberOf, readFiles, type StoredFile } from "../../model/file.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { withFile } from "../../model/with-file.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { insufficientScope } from "../problems.ts";
import { fileNotFound, showsFile } from "../resources.ts";
import type { FileOperation } from "./operation.ts";
import { acceptPatch, type PatchContext } from "./patch.ts";
import type { Accepted } from "./validate.ts";

/** A file that the caller does not see cannot be removed, whether it is there or not. */
export function refuseFile(
  access: CollectionAccess,
  { slot, file }: FileOperation,
  current: Resource,
): Problem | undefined {
  const isSeen = seesFile(access, current, slot);
  if (file !== undefined) return isSeen || !slot.includes(".") ? undefined : unseenList;
  const isThere = readFiles(current.files).some((each) => each.slot === slot);
  return isSeen && isThere ? undefined : fileNotFound;
}

/** Returns what will be stored. */
export function acceptFile(
  access: CollectionAccess,
  current: Resource,
  { slot, file }: Pick<FileOperation, "slot" | "file">,
  context: PatchContext,
): Accepted | Problem {
  const member = memberOf({ slot });
  const stored = readFiles(current.files).filter((each) => memberOf(each) === member);
  const after =
    file === undefined
      ? stored.filter((each) => each.slot !== slot)
      : seesFile(access, current, slot)
        ? withFile(file, { rules: access.rules, current, stored })
        : [file];
  if (after instanceof Problem) return after;
  const address = `${context.collectionUrl}/${current.id}`;
  const text = `{${JSON.stringify(member)}:${fileMembers(after, address).get(member) ?? "null"}}`;
  const files = after.filter(({ key }) => key === file?.key);
  const accepted = acceptPatch(access, current, { kind: "merge", text, files }, context);
  if (file !== undefined) return accepted;
  if (accepted instanceof Problem) return needed(accepted);
  // A read-only member stays in what others write.
  const isLeft = readFiles(accepted.files).some((each) => each.slot === slot);
  return isLeft ? insufficientScope("admin") : accepted;
}

const seesFile = (access: CollectionAccess, resource: Resource, slot: string): boolean => {
  const mask = access.maskNow(resource);
  return mask !== undefined && showsFile(mask, slot);
};

/** Returns whether the caller sees a file of the resource. */
export const seesIn =
  (access: CollectionAccess, resource: Resource | undefined) =>
  ({ slot }: StoredFile): boolean =>
    resource !== undefined && seesFile(access, resource, slot);

const unseenList = new Problem(
  "forbidden",
  "This caller does not see the list, so it cannot change one file of it. Nothing was changed.",
);

/** The request has no body that could be invalid. */
function needed(problem: Problem): Problem {
  const { kind, errors = [] } = problem;
  const detail = "The resource would not be valid without this file; `errors` lists each error.";
  return kind === "invalid-body" ? new Problem("conflict", detail, { errors }) : problem;
}

/** Returns the files with their time, if they come to an existing resource. */
export function withTimes(
  files: readonly StoredFile[],
  current: Resource | undefined,
  at: number,
): readonly StoredFile[] {
  if (current === undefined || files.length === 0) return files;
  const isShared = Math.floor(current.updatedAt / 1000) >= Math.floor(at / 1000);
  return files.map((file) => ({
    ...file,
    uploadedAt: at,
    ...(isShared && { sharesDate: true }),
  }));
}
