// The part of s3rver that tests use; the package has no types.

declare module "@20minutes/s3rver" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export default class S3rver {
    constructor(options: {
      readonly directory: string;
      readonly silent: boolean;
      readonly allowMismatchedSignatures: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    configureBuckets(): Promise<unknown>;
    readonly store: {
      /** Writes bytes to a path. */
      putContent(path: string, content: unknown): Promise<readonly [size: number, md5: string]>;
    };
  }
}
