// Every screen: its address, its name, and the module that is loaded when it is opened.

import type { ComponentType } from "preact";
import type { IconName } from "../ui/icon.tsx";

export interface Screen {
  /** The first segment of its address. */
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
  /** Whether it is of use without the scope `admin`. */
  readonly isForAll?: boolean;
  readonly load: () => Promise<ComponentType>;
}

export const screens: readonly Screen[] = [
  {
    name: "",
    label: "Overview",
    icon: "house",
    isForAll: true,
    load: async () => (await import("../pages/overview.tsx")).Overview,
  },
];

/** The screens of a collection, by the segment after `-`; the first is the collection itself. */
export const collectionScreens: readonly Screen[] = [
  {
    name: "",
    label: "Collection",
    icon: "table",
    isForAll: true,
    load: async () => (await import("../pages/resource-page.tsx")).ResourcePage,
  },
  {
    name: "new",
    label: "New resource",
    icon: "plus",
    isForAll: true,
    load: async () => (await import("../pages/resource-page.tsx")).ResourcePage,
  },
  {
    name: "import",
    label: "Import",
    icon: "upload",
    isForAll: true,
    load: async () => (await import("../pages/import.tsx")).Import,
  },
  {
    name: "rules",
    label: "Rules",
    icon: "shield-check",
    load: async () => (await import("../pages/rules.tsx")).Rules,
  },
];

/** Returns the loader of the screen at a path, or undefined. */
export function findScreen(path: readonly string[]): Screen | undefined {
  const [first = "", , marker, name] = path;
  if (first !== "c")
    return path.length <= 1 ? screens.find((one) => one.name === first) : undefined;
  const wanted = marker === "-" ? name : "";
  return collectionScreens.find((one) => one.name === wanted);
}
