// What a request that our HTTP/1.1 has received can do, beyond a Request of the platform.

/** Returns the whole body of a request and marks it as read, if all of it has arrived; otherwise undefined. */
export const takeBody = Symbol("take the body");

export interface ReceivedRequest {
  [takeBody](): Uint8Array<ArrayBuffer> | undefined;
}

/** Undefined also for a request that another server has received. */
export const takeReceivedBody = (request: Request): Uint8Array<ArrayBuffer> | undefined =>
  (request as Partial<ReceivedRequest>)[takeBody]?.();
