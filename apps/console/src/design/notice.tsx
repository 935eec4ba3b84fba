import type { ReactNode } from 'react';

/** Something that has to be read; it stays until it is over. */
export function Notice({
  tone,
  children,
  alert,
}: {
  readonly tone?: 'red' | 'amber' | 'green';
  readonly children: ReactNode;
  readonly alert?: boolean;
}) {
  return (
    <div className={`notice ${tone ?? ''}`} role={alert ? 'alert' : undefined}>
      {children}
    </div>
  );
}
