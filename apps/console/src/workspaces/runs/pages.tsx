import { Notice } from '../../design/notice';
import { PageHead, SameBy, Tabs } from '../../design/page';
import { useOrganizationName } from '../api';
import { useOne } from '../data/use-api';
import { WorkspaceHead } from '../workspace/head';
import { organizationPath, useWorkspace } from '../workspace/use-workspace';
import { RunList } from './run-list';

/** The runs of a workspace. */
export function WorkspaceRuns() {
  const { org, ws, workspace } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace === undefined ? null : (
        <RunList
          org={org}
          ws={ws}
          path={`workspaces/${workspace.id}/runs`}
          stream={`workspaces/${workspace.id}/runs/stream`}
        />
      )}
      <SameBy api={`GET /api/v2/workspaces/${workspace?.id ?? ws}/runs`} command={`keystead run list ${org}/${ws}`} />
    </div>
  );
}

function useTabs() {
  const org = useOrganizationName();
  const to = `/organizations/${org}/runs`;
  const tabs = [
    { to, label: 'All runs', exact: true },
    { to: `${to}/queue`, label: 'Queue' },
  ];
  return { org, path: organizationPath(org), tabs };
}

/** The runs of an organization. */
export function OrganizationRuns() {
  const { org, path, tabs } = useTabs();
  return (
    <div className="stack">
      <PageHead
        title="Runs"
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org, to: `/organizations/${org}` }, { label: 'Runs' }]}
      />
      <Tabs label="Runs" tabs={tabs} />
      <RunList org={org} path={`${path}/runs`} stream={`${path}/runs/stream`} />
      <SameBy api={`GET /api/v2/${path}/runs`} />
    </div>
  );
}

/** What waits for a worker, or is with one. */
export function Queue() {
  const { org, path, tabs } = useTabs();
  const { data } = useOne<{ pending: number; running: number }>(`${path}/capacity`);
  return (
    <div className="stack">
      <PageHead
        title="Queue"
        crumbs={[
          { label: 'Organizations', to: '/' },
          { label: org, to: `/organizations/${org}` },
          { label: 'Runs', to: `/organizations/${org}/runs` },
          { label: 'Queue' },
        ]}
      />
      <Tabs label="Runs" tabs={tabs} />
      {data === undefined ? null : (
        <Notice>
          {data.data.attributes.running} running, {data.data.attributes.pending} waiting.
        </Notice>
      )}
      <RunList org={org} path={`${path}/runs/queue`} stream={`${path}/runs/stream`} filters={false} />
      <SameBy api={`GET /api/v2/${path}/runs/queue`} />
    </div>
  );
}
