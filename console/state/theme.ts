// Dark or light: as the system says, or as the person has chosen.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "restante.theme";
export const themes: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(
  themes.find((name) => name === localStorage.getItem(key)) ?? "system",
);

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(key, theme.value);
});

const isDark = (): boolean =>
  theme.peek() === "system"
    ? matchMedia("(prefers-color-scheme: dark)").matches
    : theme.peek() === "dark";

/** The other one of what is seen. */
export function flipTheme(): void {
  theme.value = isDark() ? "light" : "dark";
}
