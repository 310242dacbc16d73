// Starts the server of a clone on Node. It sets the variable here, because shells set variables differently.

process.env.RESTANTE_RUNTIME = "node";
await import("../bin/restante.js");
