// Icons of Lucide (https://lucide.dev), which is too large a package for forty of them. ISC License, copyright (c) Lucide Contributors; parts MIT, copyright (c) Cole Bemis.

export interface Shape {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** By name, in a box of 24 by 24. */
export const shapes = {
  database: [
    { tag: "ellipse", attributes: { cx: "12", cy: "5", rx: "9", ry: "3" } },
    { tag: "path", attributes: { d: "M3 5V19A9 3 0 0 0 21 19V5" } },
    { tag: "path", attributes: { d: "M3 12A9 3 0 0 0 21 12" } },
  ],
  search: [
    { tag: "path", attributes: { d: "m21 21-4.34-4.34" } },
    { tag: "circle", attributes: { cx: "11", cy: "11", r: "8" } },
  ],
  plus: [
    { tag: "path", attributes: { d: "M5 12h14" } },
    { tag: "path", attributes: { d: "M12 5v14" } },
  ],
  trash: [
    { tag: "path", attributes: { d: "M10 11v6" } },
    { tag: "path", attributes: { d: "M14 11v6" } },
    { tag: "path", attributes: { d: "M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6" } },
    { tag: "path", attributes: { d: "M3 6h18" } },
    { tag: "path", attributes: { d: "M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2" } },
  ],
  pencil: [
    {
      tag: "path",
      attributes: {
        d: "M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z",
      },
    },
    { tag: "path", attributes: { d: "m15 5 4 4" } },
  ],
  copy: [
    { tag: "rect", attributes: { width: "14", height: "14", x: "8", y: "8", rx: "2", ry: "2" } },
    { tag: "path", attributes: { d: "M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2" } },
  ],
  check: [{ tag: "path", attributes: { d: "M20 6 9 17l-5-5" } }],
  x: [
    { tag: "path", attributes: { d: "M18 6 6 18" } },
    { tag: "path", attributes: { d: "m6 6 12 12" } },
  ],
  "chevron-right": [{ tag: "path", attributes: { d: "m9 18 6-6-6-6" } }],
  "chevron-left": [{ tag: "path", attributes: { d: "m15 18-6-6 6-6" } }],
  "chevron-down": [{ tag: "path", attributes: { d: "m6 9 6 6 6-6" } }],
  "chevron-up": [{ tag: "path", attributes: { d: "m18 15-6-6-6 6" } }],
  menu: [
    { tag: "path", attributes: { d: "M4 5h16" } },
    { tag: "path", attributes: { d: "M4 12h16" } },
    { tag: "path", attributes: { d: "M4 19h16" } },
  ],
  sun: [
    { tag: "circle", attributes: { cx: "12", cy: "12", r: "4" } },
    { tag: "path", attributes: { d: "M12 2v2" } },
    { tag: "path", attributes: { d: "M12 20v2" } },
    { tag: "path", attributes: { d: "m4.93 4.93 1.41 1.41" } },
    { tag: "path", attributes: { d: "m17.66 17.66 1.41 1.41" } },
    { tag: "path", attributes: { d: "M2 12h2" } },
    { tag: "path", attributes: { d: "M20 12h2" } },
    { tag: "path", attributes: { d: "m6.34 17.66-1.41 1.41" } },
    { tag: "path", attributes: { d: "m19.07 4.93-1.41 1.41" } },
  ],
  moon: [
    {
      tag: "path",
      attributes: {
        d: "M20.985 12.486a9 9 0 1 1-9.473-9.472c.405-.022.617.46.402.803a6 6 0 0 0 8.268 8.268c.344-.215.825-.004.803.401",
      },
    },
  ],
  monitor: [
    { tag: "rect", attributes: { width: "20", height: "14", x: "2", y: "3", rx: "2" } },
    { tag: "line", attributes: { x1: "8", x2: "16", y1: "21", y2: "21" } },
    { tag: "line", attributes: { x1: "12", x2: "12", y1: "17", y2: "21" } },
  ],
  "key-round": [
    {
      tag: "path",
      attributes: {
        d: "M2.586 17.414A2 2 0 0 0 2 18.828V21a1 1 0 0 0 1 1h3a1 1 0 0 0 1-1v-1a1 1 0 0 1 1-1h1a1 1 0 0 0 1-1v-1a1 1 0 0 1 1-1h.172a2 2 0 0 0 1.414-.586l.814-.814a6.5 6.5 0 1 0-4-4z",
      },
    },
    { tag: "circle", attributes: { cx: "16.5", cy: "7.5", r: ".5", fill: "currentColor" } },
  ],
  activity: [
    {
      tag: "path",
      attributes: {
        d: "M22 12h-2.48a2 2 0 0 0-1.93 1.46l-2.35 8.36a.25.25 0 0 1-.48 0L9.24 2.18a.25.25 0 0 0-.48 0l-2.35 8.36A2 2 0 0 1 4.49 12H2",
      },
    },
  ],
  settings: [
    {
      tag: "path",
      attributes: {
        d: "M9.671 4.136a2.34 2.34 0 0 1 4.659 0 2.34 2.34 0 0 0 3.319 1.915 2.34 2.34 0 0 1 2.33 4.033 2.34 2.34 0 0 0 0 3.831 2.34 2.34 0 0 1-2.33 4.033 2.34 2.34 0 0 0-3.319 1.915 2.34 2.34 0 0 1-4.659 0 2.34 2.34 0 0 0-3.32-1.915 2.34 2.34 0 0 1-2.33-4.033 2.34 2.34 0 0 0 0-3.831A2.34 2.34 0 0 1 6.35 6.051a2.34 2.34 0 0 0 3.319-1.915",
      },
    },
    { tag: "circle", attributes: { cx: "12", cy: "12", r: "3" } },
  ],
  archive: [
    { tag: "rect", attributes: { width: "20", height: "5", x: "2", y: "3", rx: "1" } },
    { tag: "path", attributes: { d: "M4 8v11a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8" } },
    { tag: "path", attributes: { d: "M10 12h4" } },
  ],
  "book-open": [
    { tag: "path", attributes: { d: "M12 5v16" } },
    {
      tag: "path",
      attributes: {
        d: "M20.001 19A2 2 0 0022 17V5a2 2 0 00-1.999-2L16 3.002A5 5 0 0012 5a5 5 0 00-4-2H4a2 2 0 00-2 2v12a2 2 0 001.999 2H8a5 5 0 014 2 5 5 0 014-2z",
      },
    },
  ],
  "shield-check": [
    {
      tag: "path",
      attributes: {
        d: "M20 13c0 5-3.5 7.5-7.66 8.95a1 1 0 0 1-.67-.01C7.5 20.5 4 18 4 13V6a1 1 0 0 1 1-1c2 0 4.5-1.2 6.24-2.72a1.17 1.17 0 0 1 1.52 0C14.51 3.81 17 5 19 5a1 1 0 0 1 1 1z",
      },
    },
    { tag: "path", attributes: { d: "m9 12 2 2 4-4" } },
  ],
  file: [
    {
      tag: "path",
      attributes: {
        d: "M6 22a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h8a2.4 2.4 0 0 1 1.704.706l3.588 3.588A2.4 2.4 0 0 1 20 8v12a2 2 0 0 1-2 2z",
      },
    },
    { tag: "path", attributes: { d: "M14 2v5a1 1 0 0 0 1 1h5" } },
  ],
  image: [
    { tag: "rect", attributes: { width: "18", height: "18", x: "3", y: "3", rx: "2", ry: "2" } },
    { tag: "circle", attributes: { cx: "9", cy: "9", r: "2" } },
    { tag: "path", attributes: { d: "m21 15-3.086-3.086a2 2 0 0 0-2.828 0L6 21" } },
  ],
  upload: [
    { tag: "path", attributes: { d: "M12 3v12" } },
    { tag: "path", attributes: { d: "m17 8-5-5-5 5" } },
    { tag: "path", attributes: { d: "M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4" } },
  ],
  download: [
    { tag: "path", attributes: { d: "M12 15V3" } },
    { tag: "path", attributes: { d: "M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4" } },
    { tag: "path", attributes: { d: "m7 10 5 5 5-5" } },
  ],
  funnel: [
    {
      tag: "path",
      attributes: {
        d: "M10 20a1 1 0 0 0 .553.895l2 1A1 1 0 0 0 14 21v-7a2 2 0 0 1 .517-1.341L21.74 4.67A1 1 0 0 0 21 3H3a1 1 0 0 0-.742 1.67l7.225 7.989A2 2 0 0 1 10 14z",
      },
    },
  ],
  "columns-3": [
    { tag: "rect", attributes: { width: "18", height: "18", x: "3", y: "3", rx: "2" } },
    { tag: "path", attributes: { d: "M9 3v18" } },
    { tag: "path", attributes: { d: "M15 3v18" } },
  ],
  ellipsis: [
    { tag: "circle", attributes: { cx: "12", cy: "12", r: "1" } },
    { tag: "circle", attributes: { cx: "19", cy: "12", r: "1" } },
    { tag: "circle", attributes: { cx: "5", cy: "12", r: "1" } },
  ],
  "refresh-cw": [
    { tag: "path", attributes: { d: "M3 12a9 9 0 0 1 9-9 9.75 9.75 0 0 1 6.74 2.74L21 8" } },
    { tag: "path", attributes: { d: "M21 3v5h-5" } },
    { tag: "path", attributes: { d: "M21 12a9 9 0 0 1-9 9 9.75 9.75 0 0 1-6.74-2.74L3 16" } },
    { tag: "path", attributes: { d: "M8 16H3v5" } },
  ],
  "log-out": [
    { tag: "path", attributes: { d: "m16 17 5-5-5-5" } },
    { tag: "path", attributes: { d: "M21 12H9" } },
    { tag: "path", attributes: { d: "M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4" } },
  ],
  "circle-alert": [
    { tag: "circle", attributes: { cx: "12", cy: "12", r: "10" } },
    { tag: "line", attributes: { x1: "12", x2: "12", y1: "8", y2: "12" } },
    { tag: "line", attributes: { x1: "12", x2: "12.01", y1: "16", y2: "16" } },
  ],
  info: [
    { tag: "circle", attributes: { cx: "12", cy: "12", r: "10" } },
    { tag: "path", attributes: { d: "M12 16v-4" } },
    { tag: "path", attributes: { d: "M12 8h.01" } },
  ],
  "external-link": [
    { tag: "path", attributes: { d: "M15 3h6v6" } },
    { tag: "path", attributes: { d: "M10 14 21 3" } },
    { tag: "path", attributes: { d: "M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6" } },
  ],
  link: [
    {
      tag: "path",
      attributes: { d: "M10 13a5 5 0 0 0 7.54.54l3-3a5 5 0 0 0-7.07-7.07l-1.72 1.71" },
    },
    {
      tag: "path",
      attributes: { d: "M14 11a5 5 0 0 0-7.54-.54l-3 3a5 5 0 0 0 7.07 7.07l1.71-1.71" },
    },
  ],
  gauge: [
    { tag: "path", attributes: { d: "m12 14 4-4" } },
    { tag: "path", attributes: { d: "M3.34 19a10 10 0 1 1 17.32 0" } },
  ],
  "hard-drive": [
    { tag: "path", attributes: { d: "M10 16h.01" } },
    {
      tag: "path",
      attributes: {
        d: "M2.212 11.577a2 2 0 0 0-.212.896V18a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-5.527a2 2 0 0 0-.212-.896L18.55 5.11A2 2 0 0 0 16.76 4H7.24a2 2 0 0 0-1.79 1.11z",
      },
    },
    { tag: "path", attributes: { d: "M21.946 12.013H2.054" } },
    { tag: "path", attributes: { d: "M6 16h.01" } },
  ],
  table: [
    { tag: "path", attributes: { d: "M12 3v18" } },
    { tag: "rect", attributes: { width: "18", height: "18", x: "3", y: "3", rx: "2" } },
    { tag: "path", attributes: { d: "M3 9h18" } },
    { tag: "path", attributes: { d: "M3 15h18" } },
  ],
  "chart-column": [
    { tag: "path", attributes: { d: "M3 3v16a2 2 0 0 0 2 2h16" } },
    { tag: "path", attributes: { d: "M18 17V9" } },
    { tag: "path", attributes: { d: "M13 17V5" } },
    { tag: "path", attributes: { d: "M8 17v-3" } },
  ],
  undo: [
    { tag: "path", attributes: { d: "M3 7v6h6" } },
    { tag: "path", attributes: { d: "M21 17a9 9 0 0 0-9-9 9 9 0 0 0-6 2.3L3 13" } },
  ],
  house: [
    { tag: "path", attributes: { d: "M15 21v-8a1 1 0 0 0-1-1h-4a1 1 0 0 0-1 1v8" } },
    {
      tag: "path",
      attributes: {
        d: "M3 10a2 2 0 0 1 .709-1.528l7-6a2 2 0 0 1 2.582 0l7 6A2 2 0 0 1 21 10v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
      },
    },
  ],
  "arrow-up": [
    { tag: "path", attributes: { d: "m5 12 7-7 7 7" } },
    { tag: "path", attributes: { d: "M12 19V5" } },
  ],
  "arrow-down": [
    { tag: "path", attributes: { d: "M12 5v14" } },
    { tag: "path", attributes: { d: "m19 12-7 7-7-7" } },
  ],
  save: [
    {
      tag: "path",
      attributes: {
        d: "M15.2 3a2 2 0 0 1 1.4.6l3.8 3.8a2 2 0 0 1 .6 1.4V19a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z",
      },
    },
    { tag: "path", attributes: { d: "M17 21v-7a1 1 0 0 0-1-1H8a1 1 0 0 0-1 1v7" } },
    { tag: "path", attributes: { d: "M7 3v4a1 1 0 0 0 1 1h7" } },
  ],
  "list-tree": [
    { tag: "path", attributes: { d: "M8 5h13" } },
    { tag: "path", attributes: { d: "M13 12h8" } },
    { tag: "path", attributes: { d: "M13 19h8" } },
    { tag: "path", attributes: { d: "M3 10a2 2 0 0 0 2 2h3" } },
    { tag: "path", attributes: { d: "M3 5v12a2 2 0 0 0 2 2h3" } },
  ],
  "wand-sparkles": [
    {
      tag: "path",
      attributes: {
        d: "m21.64 3.64-1.28-1.28a1.21 1.21 0 0 0-1.72 0L2.36 18.64a1.21 1.21 0 0 0 0 1.72l1.28 1.28a1.2 1.2 0 0 0 1.72 0L21.64 5.36a1.2 1.2 0 0 0 0-1.72",
      },
    },
    { tag: "path", attributes: { d: "m14 7 3 3" } },
    { tag: "path", attributes: { d: "M5 6v4" } },
    { tag: "path", attributes: { d: "M19 14v4" } },
    { tag: "path", attributes: { d: "M10 2v2" } },
    { tag: "path", attributes: { d: "M7 8H3" } },
    { tag: "path", attributes: { d: "M21 16h-4" } },
    { tag: "path", attributes: { d: "M11 3H9" } },
  ],
  "heart-pulse": [
    {
      tag: "path",
      attributes: {
        d: "M2 9.5a5.5 5.5 0 0 1 9.591-3.676.56.56 0 0 0 .818 0A5.49 5.49 0 0 1 22 9.5c0 2.29-1.5 4-3 5.5l-5.492 5.313a2 2 0 0 1-3 .019L5 15c-1.5-1.5-3-3.2-3-5.5",
      },
    },
    { tag: "path", attributes: { d: "M3.22 13H9.5l.5-1 2 4.5 2-7 1.5 3.5h5.27" } },
  ],
} as const satisfies Readonly<Record<string, readonly Shape[]>>;

export type IconName = keyof typeof shapes;
