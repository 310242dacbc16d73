// Dark or light: as the system says, or as the person has chosen.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "restante.theme";
const themes: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(
  themes.find((name) => name === localStorage.getItem(key)) ?? "system",
);

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(key, theme.value);
});

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
}
