// Two changes of one resource, of which a person chooses what is saved.

import { type Conflict, conflict, resolveConflict } from "../state/changes.ts";
import { VersionsDialog } from "../ui/versions.tsx";

export const ConflictDialog = ({ id, base, mine, theirs }: Conflict) => (
  <VersionsDialog
    kind="resource"
    name={id}
    {...{ base, mine }}
    theirs={theirs.body}
    onSave={resolveConflict}
    onClose={() => {
      conflict.value = undefined;
    }}
  />
);
