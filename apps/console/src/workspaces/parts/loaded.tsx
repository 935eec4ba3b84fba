import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';

/** Shows the loaded data; before that, a skeleton or the error. */
export function Loaded<T>({
  query,
  rows,
  children,
}: {
  readonly query: UseQueryResult<T>;
  readonly rows?: number;
  readonly children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) {
    return (
      <>
        <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
        {children(query.data)}
      </>
    );
  }
  if (query.error !== null) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  return <Skeleton {...(rows === undefined ? {} : { rows })} />;
}
