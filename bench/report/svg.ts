// What the pictures share: colours that read well on a light and on a dark page, and text.

export const colours = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .paper { fill: #ffffff; } .title { font-size: 19px; font-weight: 650; }
  .head { font-weight: 650; font-size: 14px; } .quiet { fill: #59636e; }
  .ours { font-weight: 650; }
  .track { fill: #eef1f4; } .bare { fill: #8c959f; } .restante, .workers { fill: #0969da; }
  .json-server, .platformatic, .pocketbase { fill: #bc4c00; }
  .goal { stroke: #1f2328; stroke-width: 2.5; }
  .grid { stroke: #d1d9e0; stroke-width: 1; } .curve { fill: none; stroke-width: 2.5; }
  .embedded { stroke: #0969da; } .postgres { stroke: #bc4c00; }
  .embedded-dot { fill: #0969da; } .postgres-dot { fill: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .paper { fill: #0d1117; } .quiet { fill: #9198a1; }
    .track { fill: #1b222b; } .bare { fill: #6e7681; } .restante, .workers { fill: #4493f8; }
    .json-server, .platformatic, .pocketbase { fill: #db6d28; }
    .goal { stroke: #f0f6fc; } .grid { stroke: #2a313c; }
    .embedded { stroke: #4493f8; } .postgres { stroke: #db6d28; }
    .embedded-dot { fill: #4493f8; } .postgres-dot { fill: #db6d28; }
  }`;

export const write = (
  x: number,
  y: number,
  text: string,
  className: string,
  anchor = "start",
): string =>
  `<text x="${x}" y="${y}" class="${className}" text-anchor="${anchor}">${asText(text)}</text>`;

export const asText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
