// A small line of counts, such as the growth of a collection.

interface SparkProps {
  readonly values: readonly number[];
  /** What it shows, for those who do not see it. */
  readonly label: string;
}

const width = 120;
const height = 28;

export function Spark({ values, label }: SparkProps) {
  const most = Math.max(...values, 1);
  const step = width / Math.max(values.length - 1, 1);
  const points = values.map(
    (value, n) => `${n * step},${height - 2 - (value / most) * (height - 4)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <title>{label}</title>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
