// The allowed names of collections and ids of resources, and new ids.

import { uuidv7 } from "uuidv7";

export const collectionName = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const resourceId = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

export const isCollectionName = (name: string): boolean => collectionName.test(name);
export const isResourceId = (id: string): boolean => resourceId.test(id);

/** UUIDv7, strictly increasing within a process even inside one millisecond (RFC 9562 §6.2). */
export const newId = (): string => uuidv7();
