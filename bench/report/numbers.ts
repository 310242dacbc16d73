// Numbers as people read them.

export const whole = (value: number): string =>
  Number.isFinite(value) ? Math.round(value).toLocaleString("en") : "–";
export const ratio = (value: number): string =>
  value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
export const milliseconds = (value: number): string =>
  value >= 10 ? value.toFixed(0) : value.toFixed(2);
