// Builds small static HTML pages without scripts.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../request/context.ts";
import { pageReply } from "./representation.ts";

const style =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{background:#8883;padding:.1em .3em;border-radius:.2em}";

export const htmlType = "text/html; charset=utf-8";

export const contentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** `content` is HTML. */
export function htmlPage(title: string, content: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${style}</style><h1>${escapeHtml(title)}</h1>${content}</html>`;
}

/** Responds with a page that does not change while the program runs. */
export function answerHtml(
  context: RequestContext,
  title: string,
  content: string,
): MaybePromise<Reply | Problem> {
  return pageReply(context, {
    type: htmlType,
    body: htmlPage(title, content),
    cacheControl: "public, max-age=3600",
    more: { "content-security-policy": contentSecurityPolicy },
  });
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML content and attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
