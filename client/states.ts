// Compares the state of a resource with what was sent.

const serverMembers = new Set(["id", "createdAt", "updatedAt", "_expanded"]);

/** What a client can send of it. */
export const draftOf = (resource: object): object =>
  Object.fromEntries(Object.entries(resource).filter(([name]) => !serverMembers.has(name)));

export const isStateOf = (current: object, draft: unknown): boolean =>
  canonical(draftOf(current)) === canonical(draftOf(Object(draft)));

/** JSON with the members of each object in order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
