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
  /** The screen that has it as a tab; the navigation shows only that one. */
  readonly parent?: string;
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
  {
    name: "tokens",
    label: "Tokens",
    icon: "key-round",
    load: async () => (await import("../pages/server/tokens.tsx")).Tokens,
  },
  {
    name: "requests",
    label: "Requests",
    icon: "activity",
    load: async () => (await import("../pages/server/requests.tsx")).Requests,
  },
  {
    name: "queries",
    label: "Slow queries",
    icon: "gauge",
    load: async () => (await import("../pages/server/queries.tsx")).Queries,
  },
  {
    name: "server",
    label: "Server",
    icon: "heart-pulse",
    load: async () => (await import("../pages/server/status.tsx")).ServerStatus,
  },
  {
    name: "docs",
    label: "API",
    icon: "book-open",
    isForAll: true,
    load: async () => (await import("../pages/docs/docs.tsx")).Docs,
  },
  {
    name: "storage",
    label: "Storage",
    icon: "hard-drive",
    parent: "server",
    load: async () => (await import("../pages/server/storage.tsx")).Storage,
  },
  {
    name: "backups",
    label: "Backups",
    icon: "archive",
    parent: "server",
    load: async () => (await import("../pages/server/backups.tsx")).Backups,
  },
  {
    name: "settings",
    label: "Settings",
    icon: "settings",
    parent: "server",
    load: async () => (await import("../pages/server/settings.tsx")).Settings,
  },
];

/** The screens of a collection, by the segment after `-`; the first is the collection itself. */
export const collectionScreens: readonly Screen[] = [
  {
    name: "",
    label: "Resources",
    icon: "table",
    isForAll: true,
    load: async () => (await import("../pages/collection.tsx")).CollectionScreen,
  },
  {
    name: "import",
    label: "Import",
    icon: "upload",
    isForAll: true,
    load: async () => (await import("../pages/import.tsx")).Import,
  },
  {
    name: "charts",
    label: "Charts",
    icon: "chart-column",
    isForAll: true,
    load: async () => (await import("../pages/charts.tsx")).Charts,
  },
  {
    name: "definition",
    label: "Definition",
    icon: "list-tree",
    load: async () => (await import("../pages/definition.tsx")).DefinitionScreen,
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
  // A new resource opens beside the grid, as the others do.
  const wanted = marker === "-" && name !== "new" ? name : "";
  return collectionScreens.find((one) => one.name === wanted);
}
