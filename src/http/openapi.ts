// The OpenAPI 3.1 document of what runs: every route, what it takes and what it answers.

import type { House } from "./exchange.ts";
import { components } from "./openapi-components.ts";
import { resourcePaths } from "./openapi-resources.ts";
import { collectionPaths, serverPaths, tokenPaths } from "./openapi-server.ts";

/** The routes of `routes.ts` in OpenAPI's spelling; a test holds the two to each other. */
export function openapiDocument(house: House): unknown {
  return {
    openapi: "3.1.1",
    info: {
      title: "Restante",
      version: house.version,
      summary: "POST it, GET it back: a durable HTTP API for any collection.",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: house.base === "" ? "/" : house.base }],
    tags: [
      { name: "Resources", description: "What people and programs keep here." },
      { name: "Collections", description: "The rules of each collection; for administrators." },
      { name: "Tokens", description: "Who may do what; for administrators." },
      { name: "Server", description: "What is not user data; open to everyone." },
    ],
    paths: {
      ...resourcePaths(house.maxBodyBytes),
      ...collectionPaths(house.maxBodyBytes),
      ...tokenPaths(house.maxBodyBytes),
      ...serverPaths,
    },
    components: components(house.base),
  };
}

const about = `Every GET also answers HEAD: the same fields, no body. Every address answers OPTIONS without a token: \`Allow\`, and the CORS preflight.

Every refusal is a problem (RFC 9457) whose \`type\` is the address of a page about it. Besides those listed with an operation, any address may answer 408, 417, 431, 501 or 505 to a request that cannot be read at all. A method that an address does not have is answered with 405 and \`Allow\`, an address with a slash at its end with 308. Unknown and repeated query parameters are refused.

Anything can be retried without harm: PUT, DELETE and every GET as they are, POST with an \`Idempotency-Key\`, PATCH with \`If-Match\`.`;
