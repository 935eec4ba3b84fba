import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { mountPage } from '../pages';

/** A link to the page that creates something in a mount, as a button. */
export function CreateLink({
  mount,
  tab,
  children,
}: {
  readonly mount: string;
  readonly tab: string;
  readonly children: ReactNode;
}) {
  return (
    <Link className="button primary" {...mountPage({ mount, tab, create: true })}>
      <Plus size={16} aria-hidden="true" />
      {children}
    </Link>
  );
}
