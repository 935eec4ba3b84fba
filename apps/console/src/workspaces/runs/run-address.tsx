import { Navigate, useParams } from '@tanstack/react-router';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { includedOf, useRead } from '../api';

/** Redirects from the id of a run to its page: other services know only the id. */
export function RunAddress() {
  const { run: id = '' } = useParams({ strict: false }) as { run?: string };
  const found = useRead(['run', id, 'workspace'], (api) =>
    api.GET('/api/v2/runs/{run_id}', { params: { path: { run_id: id }, query: { include: 'workspace' } } }),
  );
  if (found.error) return <ErrorNotice error={found.error} />;
  const workspace = includedOf(found.data?.included, found.data?.data?.relationships.workspace);
  const org = workspace?.relationships.organization.data?.id;
  if (workspace === undefined || org === undefined) return <Skeleton rows={3} />;
  const place = [org, 'workspaces', workspace.attributes.name, 'runs', id].map(encodeURIComponent).join('/');
  return <Navigate to={`/organizations/${place}`} replace />;
}
