// Buttons: with a text, or with an icon and a name.

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly type?: "button" | "submit";
  readonly isDisabled?: boolean;
  /** Whether it waits for an answer. */
  readonly isBusy?: boolean;
  readonly title?: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly children: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { kind = "plain", icon, type = "button", isDisabled = false, isBusy = false } = props;
  return (
    <button
      type={type}
      class={`button ${kind}`}
      disabled={isDisabled || isBusy}
      aria-busy={isBusy}
      title={props.title}
      onClick={props.onClick}
    >
      {icon && <Icon name={icon} />}
      {props.children}
    </button>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  readonly onClick: (event: MouseEvent) => void;
}

/** The label is read out, and shown when the pointer rests on it. */
export function IconButton({ icon, label, isDisabled, isPressed, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      class="button icon-button"
      aria-label={label}
      aria-pressed={isPressed}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
