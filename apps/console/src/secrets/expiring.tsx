import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileBadge, KeyRound, type LucideIcon, Vault } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge } from '../design/badge';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useSession } from '../shell/session';
import type { CertificateInfo } from './engines/pki/certificates';
import { hasVersions, useMounts } from './mounts';
import { mountPage, page } from './pages';
import { useReadable } from './readable';
import { encodedPath, listed } from './reads';

const dayMs = 86_400_000;
/**
 * Entries that expire within this many days are shown; those that expire sooner than the shorter time are highlighted.
 */
const soonDays = 30;
const urgentMs = 7 * dayMs;
const mostShown = 10;
/**
 * The maximum number of entries of an engine, so that an engine with many short-lived items does not hide the others.
 */
const mostOfOne = 5;
/** The maximum number of lists that are read, because each takes one request. */
const mostSources = 40;

interface Expiring {
  readonly key: string;
  readonly icon: LucideIcon;
  readonly kind: string;
  readonly name: string;
  readonly at: string;
  readonly until: number;
  readonly link: (children: ReactNode) => ReactNode;
}

/** A list that can be filtered by expiry, and how to show its entries. */
interface ExpiringList {
  readonly path: string;
  readonly how: 'list' | 'scan';
  readonly read: (name: string, info: never) => Expiring;
}

interface SecretEnds {
  readonly current_version: number;
  readonly versions: Readonly<Record<string, { readonly deletion_time: string }>>;
}
interface TokenEnds {
  readonly display_name: string;
  readonly expire_time: string;
}

const tokens: ExpiringList = {
  path: 'auth/token/accessors',
  how: 'list',
  read: (accessor, { display_name, expire_time }: TokenEnds) => ({
    key: accessor,
    icon: KeyRound,
    kind: 'token',
    name: display_name || 'token',
    at: 'auth/token/',
    until: Date.parse(expire_time),
    link: (children) => <Link {...page('/access/tokens', { accessor })}>{children}</Link>,
  }),
};

const certificatesOf = (mount: string): ExpiringList => ({
  path: `${mount}certs/detailed`,
  how: 'list',
  read: (serial, { common_name, not_after }: CertificateInfo) => ({
    key: `${mount} ${serial}`,
    icon: FileBadge,
    kind: 'certificate',
    name: common_name || serial,
    at: mount,
    until: Date.parse(not_after),
    link: (children) => <Link {...mountPage({ mount, tab: 'certificates' })}>{children}</Link>,
  }),
});

const secretsOf = (mount: string): ExpiringList => ({
  path: `${mount}detailed-metadata/`,
  how: 'scan',
  read: (name, { current_version, versions }: SecretEnds) => ({
    key: mount + name,
    icon: Vault,
    kind: 'secret',
    name,
    at: mount,
    until: Date.parse(versions[current_version]?.deletion_time ?? ''),
    link: (children) => <Link {...page('/secrets', { at: mount + name })}>{children}</Link>,
  }),
});

/**
 * Tokens, certificates and secrets that expire soon, from lists that this session may read; nothing is shown if there
 * are none.
 */
export function ExpiringSoon() {
  const { transport } = useSession();
  const { secret: mounts } = useMounts();
  const sources = [
    tokens,
    ...mounts.filter(({ type }) => type === 'pki').map(({ path }) => certificatesOf(path)),
    ...mounts.filter(hasVersions).map(({ path }) => secretsOf(path)),
  ].slice(0, mostSources);
  const paths = (how: ExpiringList['how']) => sources.filter((source) => source.how === how).map(({ path }) => path);
  const [lists, scans] = [
    useReadable(
      paths('list').filter((path) => path !== tokens.path),
      [tokens.path],
      'list',
    ),
    useReadable(paths('scan'), [], 'scan'),
  ];
  const readableSources = sources.filter(({ path, how }) => (how === 'list' ? lists : scans).has(path));
  const found = useQueries({
    queries: readableSources.map(({ path, how }) => ({
      queryKey: ['v1', path, 'expiring'],
      staleTime: 60_000,
      retry: false,
      queryFn: () =>
        listed(transport, encodedPath(path), how, { expires_within: `${soonDays}d`, limit: `${mostOfOne + 1}` }),
    })),
  });
  const now = Date.now();
  const ending = found
    .flatMap(({ data }, at) =>
      (data?.keys ?? [])
        .slice(0, mostOfOne)
        .map((name) => readableSources[at]!.read(name, data!.key_info?.[name] as never)),
    )
    .filter(({ until }) => until > now)
    .sort((one, other) => one.until - other.until);
  const isCut = ending.length > mostShown || found.some(({ data }) => (data?.keys.length ?? 0) > mostOfOne);
  if (ending.length === 0) return null;
  return (
    <section className="stack-tight" aria-labelledby="expiring">
      <h2 id="expiring">Expires soon</h2>
      <Table
        label="Expires soon"
        rows={ending.slice(0, mostShown)}
        keyOf={({ key }) => key}
        narrow="flow"
        columns={[
          {
            head: 'Name',
            cell: ({ icon: Icon, kind, name, link }) => (
              <div className="row">
                <Icon size={15} className="second" aria-hidden="true" />
                {link(name)}
                <span className="second small">{kind}</span>
              </div>
            ),
          },
          { head: 'Path', cell: ({ at }) => at },
          { head: 'Expires', className: 'tight', cell: ({ until }) => <Time at={until} /> },
          {
            head: 'State',
            className: 'tight',
            cell: ({ until }) =>
              until < now + urgentMs ? <Badge tone="amber">within a week</Badge> : <Badge>within a month</Badge>,
          },
        ]}
      />
      {isCut ? (
        <p className="second small">More expires within {soonDays} days: the page of each engine shows it.</p>
      ) : null}
    </section>
  );
}
