import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { useMayCreateBelow } from '../own-rules';
import { enablePage } from '../pages';

/** A link to the page that enables an engine, if the session may do this. */
export function EnableLink({
  kind,
  type,
  children,
}: {
  readonly kind: 'secret' | 'auth';
  readonly type?: string;
  readonly children: ReactNode;
}) {
  const may = useMayCreateBelow(kind === 'auth' ? 'sys/auth/' : 'sys/mounts/');
  return may ? (
    <Link className="button primary" {...enablePage(kind, type)}>
      <Plus size={16} aria-hidden="true" />
      {children}
    </Link>
  ) : null;
}
