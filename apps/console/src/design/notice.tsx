import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';

const shapes = { red: CircleAlert, amber: TriangleAlert, green: CircleCheck } as const;

/** An important message; it stays until its cause has been removed. */
export function Notice({
  tone,
  children,
  alert,
}: {
  readonly tone?: 'red' | 'amber' | 'green';
  readonly children: ReactNode;
  readonly alert?: boolean;
}) {
  const Shape = tone === undefined ? Info : shapes[tone];
  return (
    <div className={`notice ${tone ?? ''}`} role={alert ? 'alert' : undefined}>
      <Shape size={16} aria-hidden="true" />
      <div>{children}</div>
    </div>
  );
}
