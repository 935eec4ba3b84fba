import type { ReactNode } from 'react';

export type Tone = 'green' | 'amber' | 'red' | 'violet' | 'accent' | 'plain';

/** A state in one or two words, with a shape as well as a colour. */
export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
