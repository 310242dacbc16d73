// An action that queues work: it adds an invoice to the collection `outbox` and returns the invoice's URL.

// In your own project, import from "restante".
import { accepted, defineAction } from "../../src/index.ts";

export default defineAction({
  description: "Puts an invoice into the outbox. Whoever sends the mail sets its state to sent.",
  input: {
    type: "object",
    properties: {
      customer: { type: "string", format: "email" },
      lines: {
        type: "array",
        minItems: 1,
        maxItems: 100,
        items: {
          type: "object",
          properties: {
            what: { type: "string", minLength: 1 },
            cents: { type: "integer", minimum: 1 },
            count: { type: "integer", minimum: 1, default: 1 },
          },
          required: ["what", "cents"],
          additionalProperties: false,
        },
      },
      currency: { enum: ["EUR", "USD"], default: "EUR" },
    },
    required: ["customer", "lines"],
    additionalProperties: false,
    examples: [{ customer: "ada@example.org", lines: [{ what: "Advice", cents: 12000 }] }],
  },
  async run({ input, resources, requestId }) {
    const { customer, lines, currency } = input;
    const cents = lines.reduce((sum, line) => sum + line.cents * line.count, 0);
    const invoice = { to: customer, lines, cents, currency, state: "waiting", requestId };
    const { location } = await resources.create("outbox", invoice);
    return accepted(location);
  },
});
