// The operators of filters, with what each takes.

export const operators = {
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
} as const;
