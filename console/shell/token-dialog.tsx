// Asks for another token over the open page when the server no longer takes the one in use, so that no draft is lost.

import { comebacks } from "../api/connection.ts";
import { session, signOut } from "../api/session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TokenForm } from "./token-form.tsx";

const refuse = (): void => {
  session.value = "refused";
};

const ask = (): void => {
  session.value = "asked";
};

/** What the former token could not read is read again. */
const goOn = (): void => {
  comebacks.value += 1;
};

export function TokenDialog() {
  if (session.value !== "asked") return null;
  return (
    <Dialog title="Your token is no longer valid" onClose={refuse}>
      <p>It has expired or was revoked. With another one you go on here; nothing is lost.</p>
      <TokenForm action="Go on" onSignedIn={goOn}>
        <Button kind="quiet" onClick={signOut}>
          Sign out, without what is not saved
        </Button>
      </TokenForm>
    </Dialog>
  );
}

/** Stays while someone looks around with a token that is no longer valid. */
export const TokenBanner = () =>
  session.value === "refused" ? (
    <p class="banner">
      Your token is no longer valid. What you see may be old, and nothing is saved.{" "}
      <Button icon="key-round" onClick={ask}>
        Enter a token
      </Button>
    </p>
  ) : null;
