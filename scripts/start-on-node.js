// Starts a clone's server on Node. The variable is set here, because shells differ in how they set one.

process.env.RESTANTE_RUNTIME = "node";
await import("../bin/restante.js");
