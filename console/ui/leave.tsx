// Asks before a screen with unsaved changes is left.

import { goTo, heldAddress, setGuard } from "../state/router.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface LeaveDialogProps {
  /** What would be lost. */
  readonly children: string;
  readonly onLeave: () => void;
}

export function LeaveDialog({ children, onLeave }: LeaveDialogProps) {
  const stay = (): void => {
    heldAddress.value = undefined;
  };
  const address = heldAddress.value;
  if (address === undefined) return null;
  return (
    <Dialog title="Leave without saving?" onClose={stay}>
      <p>{children}</p>
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
