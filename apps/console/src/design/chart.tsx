export interface Bar {
  /** The time of the bar, shown on hover and read to screen readers. */
  readonly label: string;
  readonly value: number;
}

const height = 56;
const step = 10;

/** A bar chart of amounts over time. */
export function BarChart({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const sum = bars.reduce((total, { value }) => total + value, 0);
  return (
    <svg
      className="bar-chart"
      role="img"
      aria-label={`${label}: ${sum.toLocaleString('en')} in all, ${most.toLocaleString('en')} at most`}
      viewBox={`0 0 ${bars.length * step} ${height}`}
      preserveAspectRatio="none"
    >
      {bars.map(({ label: when, value }, index) => {
        const tall = value === 0 ? 1 : Math.max(3, (value / most) * height);
        return (
          <rect
            key={when}
            className={value === 0 ? 'none' : undefined}
            x={index * step + 1}
            y={height - tall}
            width={step - 2}
            height={tall}
            rx={1.5}
          >
            <title>{`${when}: ${value.toLocaleString('en')}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const hourMs = 3_600_000;

/** Counts times by hour: 24 bars from a start time. */
export function hoursFrom(from: number, moments: readonly number[]): readonly Bar[] {
  const counts = Array.from({ length: 24 }, () => 0);
  for (const moment of moments) {
    const hour = Math.floor((moment - from) / hourMs);
    if (hour >= 0 && hour < counts.length) counts[hour]! += 1;
  }
  return counts.map((value, hour) => ({
    label: new Date(from + hour * hourMs).toLocaleString('en', {
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    }),
    value,
  }));
}
