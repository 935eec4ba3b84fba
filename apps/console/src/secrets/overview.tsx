import { Link } from '@tanstack/react-router';
import { Blocks, Clock, IdCard, KeyRound, ScrollText, Server, Vault } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge } from '../design/badge';
import { BarChart, hoursFrom } from '../design/chart';
import { Copied } from '../design/copy';
import { Notice } from '../design/notice';
import { Empty, PageHead, SameBy } from '../design/page';
import { type Stat, Stats } from '../design/stats';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useSession } from '../shell/session';
import type { AuditLine } from './audit/audit';
import { isAskedByPages } from './audit/search';
import { EnableLink } from './engines/enable-link';
import { ExpiringSoon } from './expiring';
import type { Lease } from './leases/lifeline';
import { holdsValues, kindOf, useMounts } from './mounts';
import { page } from './pages';
import { useReadable } from './readable';
import { useRead } from './reads';

const counters = ['tokens', 'leases', 'entities'] as const;
const sources = [...counters.map((what) => `sys/internal/counters/${what}`), 'sys/ha-status'];
const sudoSources = ['sys/audit', 'sys/leases/timeline', 'sys/audit-chain/entries'];
const dayMs = 86_400_000;

interface Counters {
  readonly counters: Readonly<Record<string, { readonly total: number }>>;
}
interface LeaseList {
  readonly leases: readonly Lease[];
}

/** Health, warnings and latest changes; each part is shown only if the session may read it. */
export function Overview() {
  const { session, config, transport } = useSession();
  const readable = useReadable(sources, sudoSources);
  const mounts = useMounts();
  // Counters, nodes and audit devices belong to the whole installation, so only the root namespace shows them.
  const isRoot = !session.namespace && !transport.headers.has('X-Service-Namespace');
  const may = (path: string) => ({ enabled: isRoot && readable.has(path) });
  const tokens = useRead<Counters>('sys/internal/counters/tokens', may('sys/internal/counters/tokens'));
  const leases = useRead<Counters>('sys/internal/counters/leases', may('sys/internal/counters/leases'));
  const entities = useRead<Counters>('sys/internal/counters/entities', may('sys/internal/counters/entities'));
  const devices = useRead<Readonly<Record<string, unknown>>>('sys/audit', may('sys/audit'));
  const nodes = useRead<{ readonly nodes: readonly { readonly version: string }[] }>(
    'sys/ha-status',
    may('sys/ha-status'),
  );
  const failing = useRead<LeaseList>('sys/leases/timeline?failing=true&limit=100', may('sys/leases/timeline'));
  const ends = useRead<LeaseList>('sys/leases/timeline?limit=500', may('sys/leases/timeline'));
  const changes = useRead<{ readonly entries: readonly AuditLine[] }>(
    'sys/audit-chain/entries?limit=500',
    may('sys/audit-chain/entries'),
  );
  const versions = new Set(nodes.data?.nodes.map(({ version }) => version).filter((version) => version !== ''));
  const failed = failing.data?.leases.length ?? 0;
  const problems: readonly (readonly [string, ReactNode])[] = [
    ...(devices.data !== undefined && Object.keys(devices.data).length === 0
      ? [['audit', <>No audit device is enabled: requests are not recorded.</>] as const]
      : []),
    ...(failed > 0
      ? [
          [
            'leases',
            <>
              {failed} {failed === 1 ? 'lease' : 'leases'} could not be revoked and will be tried again.{' '}
              <Link {...page('/leases', { failing: true })}>Show them</Link>
            </>,
          ] as const,
        ]
      : []),
    ...(versions.size > 1 ? [['versions', <>The nodes run {[...versions].join(' and ')}.</>] as const] : []),
  ];
  const checked = devices.data !== undefined && nodes.data !== undefined;
  const count = (what: Counters | undefined) => Object.values(what?.counters ?? {})[0]?.total;
  const stats: readonly (Stat | undefined)[] = [
    numbered('Tokens', KeyRound, count(tokens.data), '/access/tokens'),
    numbered('Leases', Clock, count(leases.data), '/leases'),
    numbered('Entities', IdCard, count(entities.data), '/access/entities'),
    numbered('Nodes', Server, nodes.data?.nodes.length, '/operations'),
    numbered('Audit devices', ScrollText, devices.data && Object.keys(devices.data).length, '/audit'),
    numbered('Secrets engines', Blocks, mounts.known ? mounts.secret.length : undefined, '/engines'),
  ];
  const now = Date.now();
  const ending = ends.data?.leases.filter(({ state }) => state === 'live') ?? [];
  const lines = changes.data?.entries.filter(isChange) ?? [];
  const stores = mounts.secret.filter(holdsValues);
  return (
    <div className="stack">
      <PageHead
        title="Overview"
        state={
          problems.length > 0 ? (
            <Badge tone="amber">Needs attention</Badge>
          ) : checked ? (
            <Badge tone="green">All is well</Badge>
          ) : undefined
        }
      >
        <p className="second">
          Unsealed · version {config.version}
          {session.namespace ? ` · namespace ${session.namespace}` : ''}
        </p>
      </PageHead>
      {problems.map(([kind, text]) => (
        <Notice key={kind} tone="amber">
          <span>{text}</span>
        </Notice>
      ))}
      <Stats label="Counts" stats={stats.filter((one) => one !== undefined)} />
      {ending.length + lines.length === 0 ? null : (
        <div className="cards">
          {lines.length === 0 ? null : (
            <section className="stack-tight" aria-labelledby="changes-chart">
              <h2 id="changes-chart">Changes in the last 24 hours</h2>
              <BarChart
                label="Changes by hour"
                bars={hoursFrom(
                  now - dayMs,
                  lines.map(({ entry }) => Date.parse(entry.time)),
                )}
              />
            </section>
          )}
          {ending.length === 0 ? null : (
            <section className="stack-tight" aria-labelledby="ends-chart">
              <h2 id="ends-chart">Leases that expire in the next 24 hours</h2>
              <BarChart
                label="Leases by hour of expiry"
                bars={hoursFrom(
                  now,
                  ending.map(({ expire_time }) => Date.parse(expire_time)),
                )}
              />
            </section>
          )}
        </div>
      )}
      <div className="columns">
        <div className="stack">
          <section className="stack-tight" aria-labelledby="values">
            <h2 id="values">Secrets</h2>
            {mounts.known && stores.every(({ type }) => type === 'cubbyhole') ? (
              <Empty
                icon={Vault}
                action={
                  <EnableLink kind="secret" type="kv">
                    Enable a key/value engine
                  </EnableLink>
                }
              >
                A key/value engine stores the secrets of your teams and programs, with versions.
              </Empty>
            ) : (
              <ul className="list">
                {stores.map((mount) => (
                  <li key={mount.path}>
                    <Vault size={16} className="second" aria-hidden="true" />
                    <Link {...page('/secrets', { at: mount.path })}>{mount.path}</Link>
                    <span className="second small">
                      {kindOf(mount)}
                      {mount.description === '' ? '' : ` · ${mount.description}`}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </section>
          <ExpiringSoon />
          {lines.length === 0 ? null : (
            <section className="stack-tight" aria-labelledby="changes">
              <div className="panel-head">
                <h2 id="changes">Recent changes</h2>
                <Link className="small" {...page('/audit')}>
                  All of the audit
                </Link>
              </div>
              <Table
                label="Recent changes"
                rows={lines.slice(0, 8)}
                keyOf={({ chain, sequence, line }) => `${chain} ${sequence} ${line}`}
                narrow="flow"
                columns={[
                  { head: 'When', className: 'tight', cell: ({ entry }) => <Time at={entry.time} /> },
                  { head: 'Who', cell: ({ entry }) => entry.auth?.display_name ?? 'no token' },
                  { head: 'Operation', className: 'tight', cell: ({ entry }) => entry.request?.operation },
                  { head: 'Path', cell: ({ entry }) => <code>{entry.request?.path}</code> },
                ]}
              />
            </section>
          )}
        </div>
        <section className="stack-tight" aria-labelledby="session">
          <h2 id="session">This session</h2>
          <dl className="facts">
            <dt>Signed in as</dt>
            <dd>{session.name}</dd>
            <dt>Policies</dt>
            <dd>{(session.policies ?? []).join(', ')}</dd>
            {session.accessor ? (
              <>
                <dt>Accessor</dt>
                <dd>
                  <Copied text={session.accessor} what="accessor" />
                </dd>
              </>
            ) : null}
            <dt>Expires</dt>
            <dd>
              <Time at={session['expires-at']} />; <Time at={session['idle-ends-at']} /> if it is not used
            </dd>
          </dl>
        </section>
      </div>
      <SameBy api="GET /v1/sys/health" command="keystead status" />
    </div>
  );
}

/** Whether a request changed something and is not a background request of a console. */
const isChange = ({ entry }: AuditLine): boolean =>
  entry.type === 'request' && entry.error === undefined && !isAskedByPages(entry.request?.path ?? '');

function numbered(label: string, icon: Stat['icon'], value: number | undefined, to: string): Stat | undefined {
  if (value === undefined) return undefined;
  return {
    label,
    ...(icon === undefined ? {} : { icon }),
    value: value.toLocaleString('en'),
    tone: label === 'Audit devices' && value === 0 ? 'red' : undefined,
    link: (children) => <Link to={to}>{children}</Link>,
  };
}
