import type { ReactNode } from 'react';

/** An important message; it stays until its cause is gone. */
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
