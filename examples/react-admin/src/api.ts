// The client, the data provider, and who is signed in: the token is kept until the tab is closed.

import type { AuthProvider } from "react-admin";
import { Client } from "restante-client";
import { dataProvider as restanteProvider } from "restante-client/react-admin";

const url = import.meta.env.VITE_API ?? "http://localhost:8080";
const place = "shop.token";

const client = new Client(url, { token: () => sessionStorage.getItem(place) ?? undefined });

export const dataProvider = restanteProvider(client);

export const authProvider: AuthProvider = {
  login: async ({ token }: { readonly token: string }) => {
    await new Client(url, { token }).collection("products").list({ limit: 1 });
    sessionStorage.setItem(place, token);
  },
  logout: async () => sessionStorage.removeItem(place),
  checkAuth: async () => {
    if (sessionStorage.getItem(place) === null) throw new Error("Sign in, please.");
  },
  checkError: async ({ status }: { readonly status?: number }) => {
    if (status !== 401) return;
    sessionStorage.removeItem(place);
    throw new Error("The token is not valid, or no longer.");
  },
  getPermissions: async () => undefined,
};
