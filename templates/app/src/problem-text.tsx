// What went wrong, but for the errors that are shown at their fields.

import type { Problem } from "restante/client";
import { SignIn } from "./sign-in.tsx";

const texts: Readonly<Record<number, string>> = {
  400: "Please correct what is marked.",
  404: "Somebody has deleted it.",
  409: "Please correct what is marked.",
};

export function ProblemText({ problem }: { readonly problem: Problem }) {
  if (problem.status === 401 || problem.status === 403) return <SignIn problem={problem} />;
  return <p role="alert">{texts[problem.status] ?? problem.message}</p>;
}
