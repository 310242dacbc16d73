// A small line, such as the growth of a collection.

interface SparkProps {
  /** By the first number, from low to high. */
  readonly points: readonly (readonly [x: number, y: number])[];
  /** What it shows, for those who do not see it. */
  readonly label: string;
}

const width = 120;
const height = 28;
/** Half of the line is outside of its points. */
const edge = 2;

export function Spark({ points, label }: SparkProps) {
  const [from, to] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  const most = Math.max(...points.map(([, y]) => y), 1);
  const places = points.map(([x, y]) => {
    const across = to === from ? 1 : (x - from) / (to - from);
    return `${edge + across * (width - 2 * edge)},${height - edge - (y / most) * (height - 2 * edge)}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <title>{label}</title>
      <polyline points={places.join(" ")} />
    </svg>
  );
}
