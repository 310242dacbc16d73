// The operators of filters: one table, to which everything that has to know each of them is tied by its type.

/** What follows an operator: a value that the field can have, several of them, true or false, or a text. */
type Operand = "value" | "list" | "boolean" | "text";

export const operandOf = {
  eq: "value",
  ne: "value",
  lt: "value",
  lte: "value",
  gt: "value",
  gte: "value",
  in: "list",
  exists: "boolean",
  like: "text",
  startsWith: "text",
  contains: "text",
  icontains: "text",
  ieq: "text",
} as const satisfies Readonly<Record<string, Operand>>;

type Operands = typeof operandOf;
export type Operator = keyof Operands;
export type OperatorOn<O extends Operand> = {
  [K in Operator]: Operands[K] extends O ? K : never;
}[Operator];
export type TextOperator = OperatorOn<"text">;

export const operators = Object.keys(operandOf) as readonly Operator[];

export const isOperator = (name: string): name is Operator => Object.hasOwn(operandOf, name);
export const isTextOperator = (operator: Operator): operator is TextOperator =>
  operandOf[operator] === "text";
