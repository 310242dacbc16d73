// Types of functions on files that only some runtimes have.

/** Returns a byte range of a file as a Blob, for a runtime that cannot set the Content-Length of a stream. */
export type SendFile = (path: string, start: number, end: number) => Blob;

/** Maps a file into memory that processes share. */
export type MapFile = (path: string) => Uint8Array;
