// The OpenAPI 3.1 document of what runs.

import type { House } from "./exchange.ts";

export function openapiDocument(house: House): unknown {
  return { openapi: "3.1.1", info: { title: "Restante", version: house.version }, paths: {} };
}
