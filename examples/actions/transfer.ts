// An action that changes two resources in one transaction: it moves an amount from one account to another.

// In your own project, import from "restante".
import { defineAction, ProblemError, problem, type ResourceAnswer } from "../../src/index.ts";

const account = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$" } as const;
const cents = { type: "integer" } as const;

export default defineAction({
  description: "Moves an amount from one of /accounts to another.",
  input: {
    type: "object",
    properties: { from: account, to: account, cents: { ...cents, minimum: 1 } },
    required: ["from", "to", "cents"],
    additionalProperties: false,
    examples: [{ from: "ada", to: "bob", cents: 500 }],
  },
  output: {
    type: "object",
    properties: { from: cents, to: cents },
    required: ["from", "to"],
    additionalProperties: false,
  },
  timeoutMs: 10_000,
  async run({ input: { from, to, cents }, resources, signal }) {
    if (from === to) {
      const detail = "another account is needed";
      throw problem("invalid-body", "The accounts are the same.", [{ pointer: "/to", detail }]);
    }
    while (!signal.aborted) {
      const giver = await resources.get("accounts", from);
      const taker = await resources.get("accounts", to);
      const left = { from: balanceOf(giver) - cents, to: balanceOf(taker) + cents };
      if (left.from < 0) throw problem("conflict", `There is less than that in ${from}.`);
      const patch = (id: string, cents: number, { etag: ifMatch }: ResourceAnswer) =>
        ({ method: "PATCH", path: `/accounts/${id}`, body: { cents }, ifMatch }) as const;
      try {
        await resources.batch([patch(from, left.from, giver), patch(to, left.to, taker)]);
        return left;
      } catch (thrown) {
        // Another request changed an account in between: read both again and retry.
        if (!(thrown instanceof ProblemError && thrown.kind === "precondition-failed"))
          throw thrown;
      }
    }
    return undefined;
  },
});

function balanceOf({ body }: ResourceAnswer): number {
  if (typeof body.cents !== "number") throw problem("conflict", `${body.id} is no account.`);
  return body.cents;
}
