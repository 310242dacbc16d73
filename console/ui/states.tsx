// What a screen shows while there is nothing to show: it loads, it is empty, or something is in the way.

import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem.ts";
import type { Loaded } from "../state/load.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface MessageProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Read out at once. */
  readonly isAlert?: boolean;
}

export function Message({ icon, title, children, isAlert = false }: MessageProps) {
  return (
    <div class="message" role={isAlert ? "alert" : undefined}>
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export const Loading = ({ what }: { what: string }) => (
  <div class="loading" role="status">
    <span class="spinner" />
    Loading {what}…
  </div>
);

export function ProblemMessage({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const isForbidden = problem.status === 403;
  const title = isForbidden ? "Your token does not allow this" : problem.title;
  return (
    <Message icon={isForbidden ? "shield-check" : "circle-alert"} title={title} isAlert>
      <p>{problem.status === 0 ? "The console tries again automatically." : problem.detail}</p>
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((error) => (
            <li key={`${error.pointer ?? error.parameter} ${error.detail}`}>
              <code>{error.pointer ?? error.parameter}</code> {error.detail}
            </li>
          ))}
        </ul>
      )}
      {problem.requestId && <p class="faint">Request {problem.requestId}</p>}
      {retry && (
        <Button icon="refresh-cw" onClick={retry}>
          Try again
        </Button>
      )}
    </Message>
  );
}

interface ShownProps<Value> {
  readonly loaded: Loaded<Value>;
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** Shows a loaded value, or why it is not there. */
export function Shown<Value>({ loaded, what, children }: ShownProps<Value>) {
  const { value, problem, reload } = loaded;
  if (value !== undefined) return <>{children(value)}</>;
  if (problem !== undefined) return <ProblemMessage problem={problem} retry={reload} />;
  return <Loading what={what} />;
}
