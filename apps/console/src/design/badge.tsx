import { Circle, CircleCheck, CircleDot, CircleX, Diamond, type LucideIcon, Play } from 'lucide-react';
import type { ReactNode } from 'react';

export type Tone = 'green' | 'amber' | 'red' | 'violet' | 'accent' | 'plain';

const shapes: { readonly [T in Tone]: LucideIcon } = {
  green: CircleCheck,
  amber: CircleDot,
  red: CircleX,
  violet: Diamond,
  accent: Play,
  plain: Circle,
};

/** A status in one or two words, with an icon as well as a colour. */
export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  const Shape = shapes[tone];
  return (
    <span className={`badge ${tone}`}>
      <Shape size={12} strokeWidth={2.5} aria-hidden="true" />
      {children}
    </span>
  );
}
