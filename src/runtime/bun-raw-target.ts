// Rejects requests on Bun whose URL differs from the path that was sent.

/**
 * Bun resolves dot segments and backslashes in `request.url` before any handler runs, so that
 * `DELETE /a/x/%2e%2e/b` arrives as `DELETE /a/b`. Its router matches the segments as they were sent
 * and passes each one, decoded once, as a parameter. A request is handled when both are the same.
 */
interface RoutedRequest extends Request {
  readonly params: Readonly<Record<string, string>>;
}

type RawHandler<Server> = (request: RoutedRequest, server: Server) => Response | Promise<Response>;

/** Routes for every path. Up to three segments are compared, because the application has no longer paths. */
export function rawRoutes<Server>(
  handle: (request: Request, server: Server) => Response | Promise<Response>,
  reject: () => Response,
): Record<string, RawHandler<Server>> {
  const compared: RawHandler<Server> = (request, server) =>
    isSent(request.url, request.params) ? handle(request, server) : reject();
  return {
    // Only this target, or an absolute URL without a path, matches it.
    "/": handle,
    "/:a": compared,
    "/:a/": compared,
    "/:a/:b": compared,
    "/:a/:b/": compared,
    "/:a/:b/:c": compared,
    "/:a/:b/:c/": compared,
    // More segments, or an empty one. A URL that the routes above match was changed by Bun.
    "/*": (request, server) => (shallow.test(request.url) ? reject() : handle(request, server)),
  };
}

const shallow = /^(?:https?:\/\/[^/]*)?\/(?:[^/?#]+(?:\/[^/?#]+){0,2}\/?)?(?:[?#]|$)/;

export const badPath =
  "A path must not contain dot segments or backslashes; send the resolved path.";

function isSent(url: string, { a, b, c }: RoutedRequest["params"]): boolean {
  // A URL without a host is the target as it was sent.
  const start = url.startsWith("/") ? 0 : url.indexOf("/", "https://".length);
  // The target of CONNECT has no path, and the application rejects it.
  if (start < 0) return true;
  let at = skip(url, start, a);
  if (b !== undefined) at = skip(url, at, b);
  if (c !== undefined) at = skip(url, at, c);
  return (at > 0 && isEnd(url, at)) || isSentEncoded(url.slice(start), [a, b, c]);
}

/** The position after this segment; -1 when the URL has another one there. */
const skip = (url: string, at: number, segment = ""): number =>
  at >= 0 && url.charCodeAt(at) === slash && url.startsWith(segment, at + 1)
    ? at + 1 + segment.length
    : -1;

const slash = "/".charCodeAt(0);
const questionMark = "?".charCodeAt(0);

const isEnd = (url: string, at: number): boolean =>
  at === url.length ||
  url.charCodeAt(at) === questionMark ||
  (url.charCodeAt(at) === slash &&
    (at + 1 === url.length || url.charCodeAt(at + 1) === questionMark));

/** Compares segments that are percent-encoded, or that Bun has encoded. */
function isSentEncoded(target: string, sent: readonly (string | undefined)[]): boolean {
  const [path = ""] = target.split(/[?#]/, 1);
  const segments = path.slice(1).replace(/\/$/, "").split("/");
  const expected = sent.filter((segment) => segment !== undefined);
  return (
    segments.length === expected.length &&
    segments.every((segment, index) => isDecoded(segment, expected[index]))
  );
}

/** The application rejects a URL with invalid percent-encoding. */
function isDecoded(segment: string, sent: string | undefined): boolean {
  try {
    return decodeURIComponent(segment) === sent;
  } catch {
    return true;
  }
}
