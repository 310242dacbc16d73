// A test action with every kind of result, valid and invalid.

import { accepted, defineAction, problem, seeOther } from "../../../src/index.ts";

/** What is no JSON. The runtimes turn some of it into different objects. */
const others: Readonly<Record<string, () => unknown>> = {
  Headers: () => new Headers({ a: "b" }),
  URLSearchParams: () => new URLSearchParams("a=b"),
  FormData: () => new FormData(),
  Blob: () => new Blob(["a"]),
  ReadableStream: () => new ReadableStream(),
  Map: () => new Map([[1, 2]]),
  Set: () => new Set([1]),
  Uint8Array: () => Buffer.from("a"),
  ArrayBuffer: () => new ArrayBuffer(1),
  Error: () => new RangeError("returned"),
  RegExp: () => /a/,
};

export default defineAction({
  description: "Answers.",
  input: {
    type: "object",
    properties: { how: { type: "string" }, location: { type: "string" }, value: {} },
    required: ["how"],
  },
  run({ input: { how, location = "", value } }) {
    switch (how) {
      case "value":
        return value;
      case "accepted":
        return accepted(location);
      case "forged-location":
        return Object.assign(Object(value), { [Symbol.for("restante.elsewhere")]: true });
      case "see-other":
        return seeOther(location);
      case "problem":
        throw problem("conflict", "It is in the way.", [{ pointer: "/how", detail: "stop" }]);
      case "another-problem":
        throw problem("internal-error" as "conflict", "Not ours to say.");
      case "any-problem": {
        const { detail, errors } = Object(value);
        throw problem("conflict", detail, errors);
      }
      case "bigint":
        return 1n;
      case "function":
        return () => 1;
      case "circle": {
        const circle: Record<string, unknown> = {};
        circle.self = circle;
        return circle;
      }
      case "response":
        return new Response("{}");
      case "fetched-response":
        return fetch("data:application/json,{}");
      default:
        return others[how]?.();
    }
  },
});
