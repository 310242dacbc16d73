// Tells whether a request asks for the health of the server: often, for any host, and of no interest when all is well.

import type { RequestContext } from "./context.ts";

export const isProbe = ({ path, services }: RequestContext): boolean =>
  (path === "/-/health" || path === "/-/ready") && services.website === undefined;
