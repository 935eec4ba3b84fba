import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ErrorNotice } from '../design/error-notice';
import { Empty, PageHead, SameBy, Skeleton } from '../design/page';
import { useSession } from '../shell/session';

/** The organizations that the caller may see. */
export function Organizations() {
  const { transport } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['organizations'],
    queryFn: () => transport.call<{ data: { id: string }[] }>('GET', '/api/v2/organizations'),
  });
  return (
    <div className="stack">
      <PageHead title="Organizations" />
      <ErrorNotice error={error} onRetry={() => void refetch()} />
      {data === undefined && error === null ? <Skeleton /> : null}
      {data?.data.length === 0 ? (
        <Empty command="keystead org create NAME">An organization holds workspaces and the teams that use them.</Empty>
      ) : null}
      {data === undefined || data.data.length === 0 ? null : (
        <ul className="list">
          {data.data.map(({ id }) => (
            <li key={id}>
              <Link to={`/organizations/${encodeURIComponent(id)}/projects`}>{id}</Link>
            </li>
          ))}
        </ul>
      )}
      <SameBy api="GET /api/v2/organizations" command="keystead org list" />
    </div>
  );
}
