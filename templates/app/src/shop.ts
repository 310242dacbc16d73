// The server, and its collections. Their types are in collections.ts: `npm run types` writes it.

import { Client } from "restante-client";
import type { Collections } from "./collections.ts";

/** While you develop, vite.config.js adds a token. In production, a person signs in: see sign-in.tsx. */
export const token = {
  get: () => sessionStorage.getItem("token") ?? undefined,
  set: (secret: string) => sessionStorage.setItem("token", secret),
};

const shop = new Client<Collections>(new URL("/api", location.href).href, { token: token.get });

export const products = shop.collection("products");
