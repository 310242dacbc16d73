// One thing with an address, a version and times.

export interface Resource {
  readonly id: string;
  /** The collection's counter when this state was written; only ever goes up. */
  readonly revision: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The user's fields: the text of a JSON object, compact, without the server's own members. */
  readonly fields: string;
  /** The id of the token that created it, where the collection asks for it. */
  readonly owner?: string;
  /** Its files, as the text of a JSON array of Part, where it has any. */
  readonly parts?: string;
  /** Another state of it has a time within the same second, so an HTTP date cannot tell them apart. */
  readonly sharesDate?: true;
}

/** The members that only the server sets. So few are found sooner in a row than in a Set. */
export const serverMembers: readonly string[] = ["id", "createdAt", "updatedAt"];

/** Names that a representation may have beside its fields; no field can be called so. */
export const reservedMembers: readonly string[] = ["_etag", "_expanded", "_owner"];

/** What is ignored in a body, so that what was read can be changed and sent back. */
export const ignoredMembers: readonly string[] = [...serverMembers, ...reservedMembers];

/** What the resource says now: `id`, the user's fields, the times. The user's bytes pass through. */
export function represent(resource: Resource): string {
  const { fields } = resource;
  const inner = fields.length > 2 ? `,${fields.slice(1, -1)}` : "";
  const createdAt = new Date(resource.createdAt).toISOString();
  const updatedAt =
    resource.updatedAt === resource.createdAt
      ? createdAt
      : new Date(resource.updatedAt).toISOString();
  return `{"id":"${resource.id}"${inner},"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}
