// The page before someone has signed in.

import { signIn } from "../api/session.ts";
import { Button } from "../ui/button.tsx";
import { TokenForm } from "./token-form.tsx";

export const SignIn = () => (
  <main class="sign-in">
    <div class="card">
      <img src="console/icon.svg" alt="" width="48" height="48" />
      <h1>Restante</h1>
      <p>
        Restante stores data and files and serves them to programs. This is where people look after
        them.
      </p>
      <TokenForm action="Sign in">
        <Button kind="quiet" onClick={() => signIn("", false)}>
          Look around without a token
        </Button>
      </TokenForm>
    </div>
  </main>
);
