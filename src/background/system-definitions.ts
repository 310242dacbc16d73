// Defines collections of the server's own data when they are needed, and again when an upgrade changes them.

import { systemDefinition } from "../model/system-collections.ts";
import type { Store } from "../store/store.ts";

/** Another node can do the same at the same time. One of another version defines it anew when it needs it. */
export async function defineSystemCollection(store: Store, collection: string): Promise<void> {
  const definition = systemDefinition(collection);
  const stored = await store.rules(collection);
  if (stored?.definition === definition) return;
  const replaces = stored?.definition ?? null;
  await store.commit([{ kind: "define", collection, definition, replaces, at: Date.now() }]);
}
