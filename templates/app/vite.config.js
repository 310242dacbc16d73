// Vite with React. While you develop, /api is the server.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** dev.js sets them. */
const { DEV_SERVER: target, DEV_TOKEN: token } = process.env;

/** Requests of this page get the token. A page of another site does not, so it cannot use your server. */
function authorize(proxy) {
  proxy.on("proxyReq", (sent, { headers }) => {
    const isOurs = headers["sec-fetch-site"] === "same-origin" && !headers.authorization;
    if (isOurs && token) sent.setHeader("authorization", `Bearer ${token}`);
  });
}

export default defineConfig({
  plugins: [react()],
  server: {
    proxy: {
      "/api": {
        target,
        rewrite: (path) => path.slice("/api".length),
        configure: authorize,
      },
    },
  },
});
