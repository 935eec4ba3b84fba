import type { LucideIcon } from 'lucide-react';

/** A page in the side navigation. */
export interface NavItem {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly to: string;
  /** The letter after `g` that opens it. */
  readonly key?: string;
  readonly count?: number | undefined;
  /** Whether the page is the current one only at exactly this address, not below it. */
  readonly exact?: boolean;
  /** Other addresses at which it is shown as current. */
  readonly also?: readonly string[];
}

/** A group of pages. */
export interface NavGroup {
  readonly label?: string;
  readonly items: readonly NavItem[];
}
