// The page before someone has signed in.

import { useEffect } from "preact/hooks";
import { Problem } from "../api/problem.ts";
import { signIn } from "../api/session.ts";
import { linkState } from "../state/sign-in-link.ts";
import { Button } from "../ui/button.tsx";
import { FirstToken } from "../ui/first-token.tsx";
import { TokenForm } from "./token-form.tsx";

export function SignIn() {
  useEffect(() => forgetFailure, []);
  return (
    <main class="sign-in">
      <div class="card">
        <img src="console/icon.svg" alt="" width="48" height="48" />
        <h1>Restante</h1>
        {linkState.value instanceof Problem && (
          <p class="banner" role="alert">
            {linkState.value.detail}
          </p>
        )}
        <p>
          Restante stores data and files and serves them to programs. This is where people look
          after them.
        </p>
        <TokenForm action="Sign in">
          <Button kind="quiet" onClick={() => signIn("", false)}>
            Look around without a token
          </Button>
        </TokenForm>
        <h2>You run this server?</h2>
        <p>
          <code>restante console</code>, run beside it, prints a link that signs you in.
        </p>
        <p>
          <FirstToken />
        </p>
      </div>
    </main>
  );
}

/** Whoever has signed in since then is not told again. */
function forgetFailure(): void {
  if (linkState.peek() instanceof Problem) linkState.value = undefined;
}
