// The interface that both runtimes implement: serving HTTP, sending and mapping files, loading modules.

import type { Fetch } from "../lib/client.ts";
import type { Reply } from "../lib/reply.ts";

/** Certificates in PEM, that of the server first, and its private key. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly fetch: Fetch;
  /**
   * The reply to what is rejected before there is a Request: 400, 408, 413, 414, 417, 431, 501, 505;
   * and 500, with its cause, when `fetch` throws. Its body is text.
   */
  readonly errorResponse: (status: number, detail: string, cause?: unknown) => Reply;
  /** A larger header section is rejected with 431. */
  readonly maxHeaderBytes: number;
  /** Whether other processes listen on the same port and share its connections. */
  readonly isShared?: boolean;
  /** Serves TLS, from version 1.2 on, with this certificate. */
  readonly tls?: Certificate | undefined;
}

export interface Server {
  readonly host: string;
  /** The port in use, also when port 0 was given. */
  readonly port: number;
  /** Stops accepting connections, waits at most this long for requests in progress, then closes the rest. */
  stop(graceMs: number): Promise<void>;
  /** Uses another certificate for new connections. Those that are open go on. */
  replaceCertificate(tls: Certificate): void;
}

export type Serve = (options: ServeOptions) => Promise<Server>;

/** A module of the running program: Node finds it by its URL, Bun gets it loaded. */
export interface OwnModule {
  readonly url: string;
  readonly load: () => Promise<Readonly<Record<string, unknown>>>;
}

/**
 * Lets the modules of a folder import a module of the program by `name`. A file with `import` or `export`
 * is loaded as an ES module.
 */
export type PrepareModules = (folder: string, name: string, own: OwnModule) => void;

/** Forgets the modules of a prepared folder, so that the next import reads their files again. */
export type ForgetModules = (folder: string, hasFailed: boolean) => Promise<void>;

/** What to import for a module that was not loaded in time so often. */
export type ModuleSpecifier = (path: string, timesStuck: number) => string;

export interface SyntaxErrorLocation {
  readonly file: string;
  readonly line: number;
  readonly detail: string;
}

/** Finds a syntax error in the loaded modules of a folder, where the runtime's own error has no line. */
export type FindSyntaxError = (folder: string) => SyntaxErrorLocation | undefined;
