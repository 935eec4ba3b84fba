import { Link } from '@tanstack/react-router';
import { Boxes, CircleX, Play, UserRoundCheck } from 'lucide-react';
import type { ReactNode } from 'react';
import { BarChart, hoursFrom } from '../../design/chart';
import { Stats } from '../../design/stats';
import { useRead } from '../api';
import { statusGroups } from '../parts/states';

const dayMs = 86_400_000;

/** Counts of an organization's workspaces by the status of their current run; each filters the list. */
export function OrganizationHealth({ org }: { readonly org: string }) {
  const total = useWorkspaceCount(org, '');
  const attention = useWorkspaceCount(org, statusGroups.attention);
  const running = useWorkspaceCount(org, statusGroups.running);
  const errored = useWorkspaceCount(org, statusGroups.errored);
  const runs = useRead(['runs-of-day', org], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/runs', {
      params: { path: { organization_name: org }, query: { 'page[size]': 100 } },
    }),
  );
  const now = Date.now();
  const moments = (runs.data?.data ?? [])
    .map(({ attributes }) => Date.parse(attributes['created-at']))
    .filter((moment) => moment > now - dayMs);
  // Rendered only when complete, so that the layout does not shift.
  if ([total, attention, running, errored].includes(undefined) || total === 0) return null;
  const stat = (label: string, icon: typeof Boxes, value: number, status: string, tone?: 'red' | 'amber') => ({
    label,
    icon,
    value: value.toLocaleString('en'),
    tone: value === 0 ? undefined : tone,
    link: (children: ReactNode) => (
      <Link to="." search={(status === '' ? {} : { status }) as never}>
        {children}
      </Link>
    ),
  });
  return (
    <div className="health">
      <Stats
        label="Workspaces by status"
        stats={[
          stat('Workspaces', Boxes, total!, ''),
          stat('Needs confirmation', UserRoundCheck, attention!, statusGroups.attention, 'amber'),
          stat('Running', Play, running!, statusGroups.running),
          stat('Errored', CircleX, errored!, statusGroups.errored, 'red'),
        ]}
      />
      {moments.length === 0 ? null : (
        <section className="chart-card" aria-label="Runs in the last 24 hours">
          <p className="second small">Runs in the last 24 hours: {moments.length.toLocaleString('en')}</p>
          <BarChart label="Runs by hour" bars={hoursFrom(now - dayMs, moments)} />
        </section>
      )}
    </div>
  );
}

/** Counts the workspaces whose current run has one of these statuses. */
function useWorkspaceCount(org: string, status: string): number | undefined {
  const query = { 'page[size]': 1, ...(status === '' ? {} : { 'filter[current-run][status]': status }) };
  const found = useRead(['workspaces', 'count', org, status], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/workspaces', {
      params: { path: { organization_name: org }, query },
    }),
  );
  return found.data?.meta?.pagination?.['total-count'];
}
