// Builds the documentation as a static site into dist/site: bun scripts/site.ts [--base /path/]
// All links are relative, so that it works below any path; only 404.html needs the base.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A page of the site, from a Markdown file of the repository. */
export interface SitePage {
  /** The path of the file in the repository. */
  readonly source: string;
  /** The path of the page in the site. */
  readonly path: string;
  readonly section: string;
  readonly title: string;
  readonly description: string;
  readonly markdown: string;
  /** The HTML before its links are resolved. */
  readonly html: string;
  readonly headings: readonly Heading[];
}

interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
  /** The text up to the next heading, without code blocks. */
  readonly body: string;
}

/** What the script of the pages searches. Decisions and what is not in the table are found last. */
export type IndexEntry = readonly [
  ...(readonly [address: string, title: string, heading: string, text: string]),
  isAside: 0 | 1,
];

const index = "docs/README.md";
/** The files of these folders are in sections of their own, whatever the table says. */
const folderSections: readonly (readonly [folder: string, section: string])[] = [
  ["docs/decisions/", "Decisions"],
  ["docs/contributing/", "Contributing"],
];
const otherSection = "More";
const isAside = (section: string): boolean =>
  section === otherSection || folderSections.some(([, name]) => name === section);

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const isMarkdown = (path: string): boolean => path.endsWith(".md");

/** Where a link of a file leads: a path in the repository, without the anchor. */
const targetOf = (from: string, href: string): string =>
  posix.normalize(posix.join(posix.dirname(from), href.split("#", 1)[0] || basename(from)));

const isExternal = (href: string): boolean => /^[a-z][a-z+.-]*:/.test(href);

/** The file that a path in the repository shows: a folder shows its README. */
function fileAt(path: string): string {
  const readme = posix.join(path, "README.md");
  return existsSync(join(root, readme)) ? readme : path.replace(/\/$/, "");
}

const linksOf = (markdown: string): readonly string[] =>
  [...Bun.markdown.html(markdown).matchAll(/<a href="([^"]*)"/g)].map(([, href = ""]) => href);

/** All files of docs/ and of the root, and what they link to, in the order of the index. */
function findSources(): readonly string[] {
  const tops = readdirSync(root);
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const all = [...docs.sort().map((path) => `docs/${path}`), ...tops.sort()].filter(isMarkdown);
  const found = new Set(["README.md", index, ...linksTo(index), ...all]);
  for (const source of found) for (const target of linksTo(source)) found.add(target);
  return [...found];
}

const linksTo = (source: string): readonly string[] =>
  linksOf(read(source))
    .filter((href) => !isExternal(href))
    .map((href) => fileAt(targetOf(source, href)))
    .filter((path) => isMarkdown(path) && existsSync(join(root, path)));

/**
 * The sections of docs/README.md, and that of each file that it links to: a section begins with a bold row
 * or a heading. A link to a whole page counts more than one to a part of it.
 */
function readIndex() {
  const names: string[] = [];
  const links = read(index)
    .split("\n")
    .flatMap((line) => {
      const begun = /^\| \*\*(.+?)\*\* \||^## (.+)/.exec(line);
      if (begun) names.push(begun[1] ?? begun[2] ?? "");
      return linksOf(line).map((href) => ({ href, section: names.at(-1) ?? otherSection }));
    });
  const sections = new Map<string, string>();
  for (const isPart of [false, true])
    for (const { href, section } of links.filter(({ href }) => href.includes("#") === isPart)) {
      const target = fileAt(targetOf(index, href));
      if (!sections.has(target)) sections.set(target, section);
    }
  return { names, sections };
}

/** README.md of the root is the first page, and docs/README.md is pages.html. */
function pathOf(source: string): string {
  if (source === index) return "pages.html";
  const path = source.replace(/^docs\//, "").toLowerCase();
  return path.replace(/(^|\/)readme\.md$/, "$1index.md").replace(/md$/, "html");
}

const textOf = (html: string): string =>
  html
    .replace(/<pre>.*?<\/pre>|<\/(?:p|li|td|th|h[1-6])>/gs, " ")
    .replace(/<[^>]*>/g, "")
    .replace(
      /&(lt|gt|quot|amp);/g,
      (_, name: string) => ({ lt: "<", gt: ">", quot: '"' })[name] ?? "&",
    )
    .replace(/\s+/g, " ")
    .trim();

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

function readPage(source: string, section: string): SitePage {
  const markdown = read(source);
  const ids = new Map<string, number>();
  const headings: Heading[] = [];
  const html = Bun.markdown
    .html(markdown, { headings: { ids: true }, autolinks: { url: true } })
    .replace(
      /<h([1-6]) id="[^"]*">(.*?)<\/h\1>(.*?)(?=<h[1-6] id=|$)/gs,
      (_, level, title, body) => {
        const id = anchorOf(textOf(title), ids);
        headings.push({ level: Number(level), id, text: textOf(title), body: textOf(body) });
        const link =
          level === "1"
            ? ""
            : ` <a class="anchor" href="#${id}" aria-label="Link to: ${escapeHtml(textOf(title))}">#</a>`;
        return `<h${level} id="${id}">${title}${link}</h${level}>${body}`;
      },
    )
    .replace(/<td[^>]*>.*?<\/td>/gs, (cell) => cell.replace(/<code>.*?<\/code>/gs, breakable))
    .replaceAll("<table>", '<div class="scroll"><table>')
    .replaceAll("</table>", "</table></div>");
  const title = headings[0]?.text ?? source;
  const description = shortened(textOf(/<p>(?!<img|Date: )(.*?)<\/p>/s.exec(html)?.[1] ?? title));
  return { source, path: pathOf(source), section, title, description, markdown, html, headings };
}

/** Names in tables may break between their words. */
const breakable = (code: string): string =>
  code.replace(/(?<![<&\w])[\w./-]{12,}/g, (name) =>
    name.replace(/(?<=\w)[_./-]|[a-z](?=[A-Z])/g, "$&<wbr>"),
  );

/** As forges make an anchor of a heading, so that links work in both places. */
function anchorOf(text: string, ids: Map<string, number>): string {
  const id = text
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
  const count = ids.get(id) ?? 0;
  ids.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

const maxDescription = 160;
const shortened = (text: string): string =>
  text.length <= maxDescription ? text : `${text.slice(0, maxDescription).replace(/\W+\w*$/, "")}…`;

/** All pages, in the order of the navigation. */
function readPages(): readonly SitePage[] {
  const { names, sections } = readIndex();
  const order = [...names, otherSection, ...folderSections.map(([, name]) => name)];
  const pages = findSources().map((source) => {
    const folder = folderSections.find(([folder]) => source.startsWith(folder))?.[1];
    const first = source === "README.md" || source === index ? names[0] : undefined;
    return readPage(source, folder ?? first ?? sections.get(source) ?? otherSection);
  });
  return [...Map.groupBy(pages, ({ section }) => section)]
    .sort(([one], [other]) => order.indexOf(one) - order.indexOf(other))
    .flatMap(([, pages]) => pages);
}

interface Site {
  readonly pages: readonly SitePage[];
  /** Images, by their paths in the repository. */
  readonly assets: Set<string>;
  readonly broken: string[];
  readonly repository: string | undefined;
}

const relative = (from: string, to: string): string =>
  posix.relative(posix.dirname(from), to) || posix.basename(to);

/** The page of a file; that of a folder is its README, or the first one in it. */
function pageAt({ pages }: Site, path: string): SitePage | undefined {
  const file = fileAt(path);
  return (
    pages.find(({ source }) => source === file) ??
    pages.find(({ source }) => posix.dirname(source) === file)
  );
}

/** Returns the address of a link from a page; undefined when the file is not in the site. */
function resolve(site: Site, page: SitePage, href: string): string | undefined {
  if (isExternal(href)) return href;
  const anchor = href.split("#")[1];
  const wanted = targetOf(page.source, href);
  const target = pageAt(site, wanted);
  if (target !== undefined) {
    if (anchor !== undefined && !target.headings.some(({ id }) => id === anchor))
      site.broken.push(`${page.source}: ${href} has no such heading`);
    return `${target === page ? "" : relative(page.path, target.path)}${anchor === undefined ? "" : `#${anchor}`}`;
  }
  if (!existsSync(join(root, wanted))) {
    site.broken.push(`${page.source}: ${href} does not exist`);
    return undefined;
  }
  if (/\.(png|svg|jpg|webp)$/.test(wanted)) {
    site.assets.add(wanted);
    return relative(page.path, assetPath(wanted));
  }
  const kind = statSync(join(root, wanted)).isDirectory() ? "tree" : "blob";
  return (
    site.repository && `${site.repository}/${kind}/main/${wanted}${anchor ? `#${anchor}` : ""}`
  );
}

const assetPath = (path: string): string => path.replace(/^docs\//, "");

/** Links to files that are not in the site show their path, as long as there is no public repository. */
const withLinks = (site: Site, page: SitePage): string =>
  page.html
    .replace(/<a href="([^"]*)"([^>]*)>(.*?)<\/a>/gs, (_, href, rest, text) => {
      const address = resolve(site, page, href);
      if (address !== undefined) return `<a href="${address}"${rest}>${text}</a>`;
      const path = targetOf(page.source, href);
      return path.includes(textOf(text))
        ? `<code>${path}</code>`
        : `${text} (<code>${path}</code>)`;
    })
    .replace(
      /<(img|source)([^>]*) (src|srcset)="([^"]*)"/g,
      (_, tag, rest, name, href) => `<${tag}${rest} ${name}="${resolve(site, page, href) ?? ""}"`,
    );

function navigation({ pages }: Site, page: SitePage): string {
  const sections = Map.groupBy(pages, ({ section }) => section);
  return [...sections]
    .map(([section, inside]) => {
      const links = inside.map(
        ({ path, title }) =>
          `<li><a href="${relative(page.path, path)}"${path === page.path ? ' aria-current="page"' : ""}>${escapeHtml(title)}</a></li>`,
      );
      return `<details${section === page.section ? " open" : ""}><summary>${section}</summary><ul>${links.join("")}</ul></details>`;
    })
    .join("\n");
}

function neighbours({ pages }: Site, page: SitePage): string {
  const place = pages.indexOf(page);
  const link = (to: SitePage | undefined, rel: string, label: string) =>
    to
      ? `<a rel="${rel}" href="${relative(page.path, to.path)}"><span>${label}</span> ${escapeHtml(to.title)}</a>`
      : "<span></span>";
  return link(pages[place - 1], "prev", "Previous") + link(pages[place + 1], "next", "Next");
}

function contents({ headings }: SitePage): string {
  const links = headings
    .filter(({ level }) => level === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return links.length < 2
    ? ""
    : `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${links.join("")}</ul></nav>`;
}

function render(site: Site, page: SitePage, template: string): string {
  const values: Readonly<Record<string, string>> = {
    title:
      page.path === "index.html" ? escapeHtml(page.title) : `${escapeHtml(page.title)} · Restante`,
    description: escapeHtml(page.description),
    root: relative(page.path, "index.html").replace(/index\.html$/, ""),
    navigation: navigation(site, page),
    article: withLinks(site, page),
    contents: contents(page),
    neighbours: neighbours(site, page),
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? "");
}

/** One entry for each heading of each page. */
const searchIndex = (pages: readonly SitePage[]): readonly IndexEntry[] =>
  pages.flatMap(({ path, section, title, headings }) =>
    headings.map(({ level, id, text, body }): IndexEntry => {
      const [address, heading] = level === 1 ? [path, ""] : [`${path}#${id}`, text];
      return [address, title, heading, body, isAside(section) ? 1 : 0];
    }),
  );

/** The list of pages for language models (llmstxt.org). */
const listForModels = (pages: readonly SitePage[]): string =>
  `${[
    `# Restante\n\n> ${pages.find(({ path }) => path === "index.html")?.description}`,
    ...[...Map.groupBy(pages, ({ section }) => section)].map(([section, inside]) =>
      [
        `## ${section}\n`,
        ...inside.map(({ path, title, description }) => `- [${title}](${path}): ${description}`),
      ].join("\n"),
    ),
  ].join("\n\n")}\n`;

/** Builds the site into an empty folder. Throws when a link leads nowhere. */
export function buildSite(folder: string, base = "/"): readonly SitePage[] {
  const { repository } = JSON.parse(read("package.json"));
  const url = (repository?.url ?? repository)?.replace(/^git\+|\.git$/g, "");
  const site: Site = { pages: readPages(), assets: new Set(), broken: [], repository: url };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const template = read("scripts/site/page.html");
  for (const page of site.pages) write(page.path, render(site, page, template));
  if (site.broken.length > 0)
    throw new Error(`These links lead nowhere:\n${site.broken.join("\n")}`);
  for (const path of site.assets) cpSync(join(root, path), join(folder, assetPath(path)));
  const styles = ["console/styles/tokens.css", "console/styles/base.css", "scripts/site/site.css"];
  write("site.css", styles.map(read).join("\n"));
  write("site.js", read("scripts/site/page.js"));
  write("icon.svg", read("console/icon.svg"));
  write(
    "search-index.js",
    `globalThis.searchIndex = ${JSON.stringify(searchIndex(site.pages))};\n`,
  );
  write("404.html", read("scripts/site/404.html").replace("{{base}}", escapeHtml(base)));
  write("llms.txt", listForModels(site.pages));
  const whole = site.pages
    .filter(({ section }) => !isAside(section))
    .map(({ markdown }) => markdown);
  write("llms-full.txt", whole.join("\n\n---\n\n"));
  return site.pages;
}

if (import.meta.main) {
  const folder = join(root, "dist/site");
  rmSync(folder, { recursive: true, force: true });
  const [flag, base] = process.argv.slice(2);
  if (flag !== undefined && (flag !== "--base" || base === undefined))
    throw new Error("usage: npm run docs:site -- [--base /path/]");
  console.log(`${buildSite(folder, base).length} pages in dist/site`);
}
