// Asks for a token, when the server wants one. While you develop it is never seen: vite.config.js adds a token.

import { useState } from "react";
import { token } from "./shop.ts";

export function SignIn({ reason }: { readonly reason: string }) {
  const [secret, setSecret] = useState("");
  const [isDone, setIsDone] = useState(false);
  const signIn = () => {
    token.set(secret.trim());
    setIsDone(true);
  };
  if (isDone) return <p role="status">Thank you. Save again.</p>;
  return (
    <div role="alert" className="sign-in">
      <p>{reason}</p>
      <input
        type="password"
        aria-label="Token"
        placeholder="rst_…"
        autoComplete="current-password"
        value={secret}
        onChange={({ target }) => setSecret(target.value)}
      />
      <button type="button" onClick={signIn}>
        Sign in
      </button>
    </div>
  );
}
