// Asks before a screen with unsaved changes is left.

import { goTo, heldAddress, setGuard } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export function LeaveDialog({ onLeave }: { onLeave: () => void }) {
  const stay = (): void => {
    heldAddress.value = undefined;
  };
  const address = heldAddress.value;
  if (address === undefined) return null;
  return (
    <Dialog title="Leave without saving?" onClose={stay}>
      <p>Your changes of this resource are not saved, or a file is not uploaded yet.</p>
      <div class="dialog-foot">
        <Button onClick={stay}>Stay</Button>
        <Button
          kind="danger"
          onClick={() => {
            onLeave();
            setGuard(undefined);
            goTo(address);
          }}
        >
          Discard and leave
        </Button>
      </div>
    </Dialog>
  );
}
