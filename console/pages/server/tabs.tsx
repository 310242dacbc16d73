// The head of the screens about the server itself.

import type { ComponentChildren } from "preact";
import { linkTo, route } from "../../state/router.ts";

const tabs = [
  ["server", "Status"],
  ["storage", "Storage"],
  ["backups", "Backups"],
  ["settings", "Settings"],
] as const;

export function ServerPage({ children }: { children: ComponentChildren }) {
  const [current] = route.value.path;
  return (
    <section class="page">
      <h1>Server</h1>
      <nav class="link-tabs" aria-label="Server">
        {tabs.map(([name, label]) => (
          <a key={name} href={linkTo([name])} aria-current={current === name ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {children}
    </section>
  );
}
