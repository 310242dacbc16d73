// How bytes arrive: the contract of both runtimes. It knows nothing of resources.

/**
 * Answers one request. `peerAddress` is asked only when somebody needs it. `windClock` is there where a
 * body that arrives slowly would be cut off; whoever reads the body calls it with every chunk.
 */
export type Fetch = (
  request: Request,
  peerAddress: () => string,
  extendTimeout?: () => void,
) => Response | Promise<Response>;

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly fetch: Fetch;
  /**
   * Words for what is refused before there is a Request: 400, 408, 413, 414, 417, 431, 501, 505; and
   * 500, with its cause, when `fetch` threw. Bun answers all but the 500 below us, with an empty body
   * (docs/runtimes.md).
   */
  readonly refuse: (status: number, detail: string, cause?: unknown) => Response;
  /** A header section over this is refused with 431. On Bun it is a flag of the process. */
  readonly maxHeaderBytes: number;
  /** Whether other processes listen on the same port, each taking a share of the connections. */
  readonly isShared?: boolean;
}

export interface Server {
  readonly host: string;
  /** The real port, also when 0 was asked for. */
  readonly port: number;
  /** Stops accepting, waits for what is in flight at most this long, then cuts what is left. */
  stop(graceMs: number): Promise<void>;
}

export type Serve = (options: ServeOptions) => Promise<Server>;

/**
 * A part of a file as the body of an answer, from `start` up to `end` and without it; undefined where
 * any stream may have a Content-Length.
 */
export type SendFile = ((path: string, start: number, end: number) => Blob) | undefined;

/** A file's bytes as memory that every process sees; undefined where the runtime cannot. */
export type MapFile = ((path: string) => Uint8Array) | undefined;

/**
 * Lets the modules of a folder import `name`, which is the module at `url`, and takes what has `import`
 * or `export` for an ES module.
 */
export type PrepareModules = (folder: string, name: string, url: string) => void;

export interface SyntaxErrorPlace {
  readonly file: string;
  readonly line: number;
  readonly detail: string;
}

/** Looks for a syntax error in the loaded modules of a folder, where the runtime's own error names no line. */
export type FindSyntaxError = (folder: string) => SyntaxErrorPlace | undefined;
