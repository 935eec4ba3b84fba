import type { LucideIcon } from 'lucide-react';

/** A page that the rail leads to. */
export interface NavItem {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly to: string;
  /** The letter after `g` that goes there. */
  readonly key?: string;
  readonly count?: number | undefined;
  /** Only this very address, none below it. */
  readonly exact?: boolean;
  /** Other addresses that belong to it. */
  readonly also?: readonly string[];
}

/** Pages that belong together. */
export interface NavGroup {
  readonly label?: string;
  readonly items: readonly NavItem[];
}
