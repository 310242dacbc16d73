// Which files are pictures that a browser can show, and the size to ask for.

import type { Definition } from "./types.ts";

/** What a browser shows as a picture without running anything. SVG is a document. */
export const isPicture = (type: string): boolean =>
  /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type);

interface Size {
  readonly width?: number;
  readonly height?: number;
}

/** The smallest declared size with an edge that is long enough, otherwise the largest; undefined when none is declared. */
export function pictureSize({ pictures }: Definition, enough: number): string | undefined {
  const sizes = ((pictures as { sizes?: readonly Size[] } | undefined)?.sizes ?? []).toSorted(
    (one, other) => edgeOf(one) - edgeOf(other),
  );
  const best = sizes.find((size) => edgeOf(size) >= enough) ?? sizes.at(-1);
  if (best === undefined) return undefined;
  const edges = Object.entries(best).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams({ ...Object.fromEntries(edges), fit: "inside" }).toString();
}

const edgeOf = ({ width = 0, height = 0 }: Size): number => Math.max(width, height);
