// Asks for a token, and tries it before it is used.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { urlOf } from "../api/client.ts";
import { signIn } from "../api/session.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";

/** Any answer but 401 means that the server knows the token. */
async function checkToken(secret: string): Promise<string | undefined> {
  try {
    const headers = { Authorization: `Bearer ${secret}` };
    const response = await fetch(urlOf("/-/openapi.json"), { method: "HEAD", headers });
    return response.status === 401 ? "The token is wrong, expired or revoked." : undefined;
  } catch {
    return "The server does not answer. Check that it runs, and try again.";
  }
}

interface TokenFormProps {
  readonly action: string;
  readonly onSignedIn?: () => void;
  /** More buttons, after the one that signs in. */
  readonly children: ComponentChildren;
}

export function TokenForm({ action, onSignedIn, children }: TokenFormProps) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const keep = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const secret = input.current?.value.trim() ?? "";
    setBusy(true);
    const failure = secret === "" ? "Paste a token." : await checkToken(secret);
    setBusy(false);
    if (failure === undefined) {
      signIn(secret, keep.current?.checked ?? false);
      onSignedIn?.();
    } else {
      setError(failure);
      input.current?.focus();
    }
  };
  return (
    <form class="token-form" onSubmit={(event) => void submit(event)}>
      <Field
        label="Token"
        errors={error === undefined ? [] : [error]}
        help="Paste the token that you were given. Whoever runs this server can make you one."
      >
        {(attributes) => (
          <input
            {...attributes}
            ref={input}
            type="password"
            name="token"
            autocomplete="off"
            autofocus
            spellcheck={false}
          />
        )}
      </Field>
      <label class="check">
        <input ref={keep} type="checkbox" defaultChecked /> Keep it until this tab is closed
      </label>
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {action}
      </Button>
      {children}
    </form>
  );
}
