// The request that the open screen shows the answer of, for "Copy as".

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ApiRequest } from "../api/client.ts";

export const currentRequest = signal<ApiRequest | undefined>(undefined);

/** Call it in every screen, with the exact request. */
export function useCurrentRequest(request: ApiRequest | undefined): void {
  const key = request && `${request.method} ${request.path} ${JSON.stringify(request.body)}`;
  // The key says when it is another request.
  useEffect(() => {
    currentRequest.value = request;
    return () => {
      if (currentRequest.peek() === request) currentRequest.value = undefined;
    };
  }, [key]);
}
