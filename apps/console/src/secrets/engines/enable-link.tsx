import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMayCreateBelow } from '../own-rules';
import { enablePage } from '../pages';

/** Leads to where an engine is enabled; nothing for those who may not. */
export function EnableLink({
  kind,
  type,
  primary = false,
  children,
}: {
  readonly kind: 'secret' | 'auth';
  readonly type?: string;
  readonly primary?: boolean;
  readonly children: ReactNode;
}) {
  const may = useMayCreateBelow(kind === 'auth' ? 'sys/auth/' : 'sys/mounts/');
  return may ? (
    <Link className={primary ? 'button primary' : 'button'} {...enablePage(kind, type)}>
      {children}
    </Link>
  ) : null;
}
