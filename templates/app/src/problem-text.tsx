// What went wrong, in one sentence for people. The errors of fields are shown at the fields.

import type { Problem } from "restante-client";
import { SignIn } from "./sign-in.tsx";

const sentences: Readonly<Record<number, string>> = {
  0: "The server does not answer. Please try again.",
  401: "Sign in with your token to save.",
  403: "You may not do this. Sign in with a token that may.",
  404: "Somebody has deleted it.",
};

/** `problem.message` is for developers. */
export function sentenceOf({ status, title, errors }: Problem): string {
  const isMarked = errors.some(({ pointer }) => pointer !== undefined);
  return sentences[status] ?? (isMarked ? "Please correct what is marked." : `${title}.`);
}

export function ProblemText({ problem }: { readonly problem: Problem }) {
  const sentence = sentenceOf(problem);
  if (problem.status === 401 || problem.status === 403) return <SignIn reason={sentence} />;
  return (
    <p role="alert" ref={bringIntoView}>
      {sentence}
    </p>
  );
}

export const bringIntoView = (element: HTMLElement | null) =>
  element?.scrollIntoView({ block: "nearest" });
