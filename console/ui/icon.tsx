// An icon beside a text. Screen readers skip it.

import { createElement } from "preact";
import { type IconName, type Shape, shapes } from "./icon-shapes.ts";

export type { IconName } from "./icon-shapes.ts";

export function Icon({ name }: { name: IconName }) {
  const list: readonly Shape[] = shapes[name];
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {list.map(({ tag, attributes }, index) => createElement(tag, { ...attributes, key: index }))}
    </svg>
  );
}
