// A box around a wide table. It scrolls by itself, also with the arrow keys, so that the page does not.

import type { ComponentChildren } from "preact";

export const ScrollBox = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls must be reachable with the keyboard.
  <section class="scroll-box" tabIndex={0} aria-label={label}>
    {children}
  </section>
);
