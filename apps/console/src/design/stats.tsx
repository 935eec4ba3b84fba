import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

export interface Stat {
  readonly label: string;
  readonly icon?: LucideIcon;
  readonly value: ReactNode;
  /** The colour that highlights the number. */
  readonly tone?: 'red' | 'amber' | 'green' | undefined;
  /** A link to the objects that were counted. */
  readonly link?: (children: ReactNode) => ReactNode;
}

/** Key figures, each with a link to the objects that it counts. */
export function Stats({ label, stats }: { readonly label: string; readonly stats: readonly Stat[] }) {
  if (stats.length === 0) return null;
  return (
    <dl className="tiles" aria-label={label}>
      {stats.map(({ label: name, icon: Shape, value, tone, link = (children) => children }) => (
        <div key={name} className={tone}>
          <dt>
            {Shape === undefined ? null : <Shape size={14} aria-hidden="true" />}
            {link(name)}
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
