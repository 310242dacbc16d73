// The client, the data provider, and who is signed in: the token is kept until the tab is closed.

import type { AuthProvider, HttpError } from "@refinedev/core";
import { Client } from "restante-client";
import { dataProvider as restanteProvider } from "restante-client/refine";

const url = import.meta.env.VITE_API ?? "http://localhost:8080";
const place = "shop.token";

const client = new Client(url, { token: () => sessionStorage.getItem(place) ?? undefined });

export const dataProvider = restanteProvider(client);

export const authProvider: AuthProvider = {
  login: async ({ token }: { readonly token: string }) => {
    try {
      await new Client(url, { token }).collection("products").list({ limit: 1 });
    } catch {
      return { success: false, error: { name: "Sign in", message: "This token is not valid." } };
    }
    sessionStorage.setItem(place, token);
    return { success: true, redirectTo: "/products" };
  },
  logout: async () => {
    sessionStorage.removeItem(place);
    return { success: true, redirectTo: "/login" };
  },
  check: async () => {
    const authenticated = sessionStorage.getItem(place) !== null;
    return authenticated ? { authenticated } : { authenticated, redirectTo: "/login" };
  },
  onError: async (error: HttpError) => (error.statusCode === 401 ? { logout: true } : {}),
};
