// A resource: its stored state and its reserved member names.

export interface Resource {
  readonly id: string;
  /** The collection's revision counter when this state was written. It only increases. */
  readonly revision: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The user's fields as compact JSON text, without the server's own members. */
  readonly fields: string;
  /**
   * The same in UTF-8, of a large resource whose bytes were read. They have a buffer of their own, which
   * whoever sends them frees. A copy of the object has none.
   */
  readonly fieldBytes?: Uint8Array;
  /** The subject that created it, when the collection has owners; an admin can change it. */
  readonly owner?: string;
  /** Its files, as the JSON text of an array of StoredFile. */
  readonly files?: string;
  /** Another state was written within the same second, so an HTTP date cannot distinguish them. */
  readonly sharesDate?: true;
}

/** Returns a resource whose fields become text each time they are read, so that their bytes can be sent as they are. */
export function largeResource(rest: Omit<Resource, "fields">, bytes: Uint8Array): Resource {
  const { buffer, byteOffset, byteLength } = bytes;
  const resource = {
    ...rest,
    get fields() {
      return Buffer.from(buffer, byteOffset, byteLength).toString();
    },
  };
  // Not enumerable: a copy with other fields must not have these bytes.
  return Object.defineProperty(resource, "fieldBytes", { value: bytes });
}

/**
 * Frees the bytes of resources that nobody reads any more; those that were sent are free already. The
 * garbage collector leaves several large pages in memory before it runs.
 */
export function freeBytes(resources: readonly Resource[]): void {
  for (const { fieldBytes } of resources) {
    const buffer = fieldBytes?.buffer;
    if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
  }
}

/** The approximate size of the fields, in characters or bytes. */
export const sizeOf = (resource: Resource): number =>
  (resource.fieldBytes ?? resource.fields).length;

/** The members that only the server sets. An array is faster than a Set for so few. */
export const serverMembers: readonly string[] = ["id", "createdAt", "updatedAt"];

/** The member with the resources that this one refers to. */
export const expandedMember = "_expanded";

/** The member with the owner, which only admins see. */
export const ownerMember = "_owner";

/** Reserved names that a representation may have in addition to its fields. */
export const reservedMembers: readonly string[] = ["_etag", expandedMember, ownerMember];

/** Members that are ignored in a body, so that a client can send back what it read. */
export const ignoredMembers: readonly string[] = [...serverMembers, ...reservedMembers];
