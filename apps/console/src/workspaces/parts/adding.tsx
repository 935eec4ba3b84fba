import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { CreateButton } from '../../design/button';
import { Creator } from './opener';

/** How a page adds something: in a dialog, or, if there are many fields, on a separate page. */
export type Adding = {
  /** The action and its object: "Create project". */
  readonly label: string;
  readonly forbidden?: string | undefined;
} & ({ readonly form: (close: () => void) => ReactNode } | { readonly to: string });

/** The button that adds something, in the head of a page or in an empty list. */
export function AddButton(adding: Adding) {
  const { label, forbidden } = adding;
  if ('form' in adding) {
    return (
      <Creator label={label} forbidden={forbidden}>
        {adding.form}
      </Creator>
    );
  }
  if (forbidden !== undefined) return <CreateButton forbidden={forbidden}>{label}</CreateButton>;
  return (
    <Link className="button primary" to={adding.to}>
      <Plus size={16} aria-hidden="true" />
      {label}
    </Link>
  );
}
