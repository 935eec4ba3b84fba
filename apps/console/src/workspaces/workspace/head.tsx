import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, Tabs } from '../../design/page';
import { includedOf } from '../api';
import { Status } from '../parts/states';
import { FavouriteButton } from './favourites';
import { LockButton } from './lock-button';
import { useMarks } from './marks';
import { NewRun } from './new-run';
import { useWorkspace } from './use-workspace';

/** Head and tabs of every page of a workspace. */
export function WorkspaceHead({ children }: { readonly children?: ReactNode }) {
  const { org, ws, to, workspace, included, error, refetch } = useWorkspace();
  const run = includedOf(included, workspace?.relationships['current-run']);
  const { opened } = useMarks(org);
  const id = workspace?.id;
  const name = workspace?.attributes.name;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect must run when another workspace is opened
  useEffect(() => {
    if (id !== undefined && name !== undefined) opened({ id, name });
  }, [id, name]);
  const tabs = [
    ['', 'Overview'],
    ['/runs', 'Runs'],
    ['/queries', 'Queries'],
    ['/variables', 'Variables'],
    ['/states', 'States'],
    ['/access', 'Access'],
    ['/change-requests', 'Change requests'],
    ['/notifications', 'Notifications'],
    ['/settings', 'Settings'],
  ] as const;
  return (
    <>
      <PageHead
        title={ws}
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org, to: `/organizations/${org}` }, { label: ws }]}
        state={
          <>
            {run === undefined ? null : (
              <Link to={`${to}/runs/${run.id}`}>
                <Status status={run.attributes.status} />
              </Link>
            )}
            {workspace?.attributes.locked ? <Badge tone="violet">locked</Badge> : null}
          </>
        }
        actions={
          workspace === undefined ? undefined : (
            <>
              <FavouriteButton org={org} mark={{ id: workspace.id, name: workspace.attributes.name }} />
              <LockButton workspace={workspace} />
              <NewRun workspace={workspace} org={org} />
            </>
          )
        }
      >
        {workspace?.attributes.description ? <p className="second">{workspace.attributes.description}</p> : null}
      </PageHead>
      <Tabs
        label={`Parts of ${ws}`}
        tabs={tabs.map(([rest, label]) => ({ to: to + rest, label, exact: rest === '' }))}
      />
      <ErrorNotice error={error} onRetry={() => void refetch()} />
      {children}
    </>
  );
}
