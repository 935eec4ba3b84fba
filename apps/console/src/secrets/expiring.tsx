import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileBadge } from 'lucide-react';
import { Badge } from '../design/badge';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useSession } from '../shell/session';
import type { CertificateInfo } from './engines/certificates';
import { useMounts } from './mounts';
import { mountPage } from './pages';
import { useReadable } from './readable';
import { encodedPath, listed } from './reads';

const dayMs = 86_400_000;
/** Certificates that expire within this time are shown, and those within the shorter one stand out. */
const soonMs = 30 * dayMs;
const urgentMs = 7 * dayMs;
const mostMounts = 5;
/** As many certificates of a mount are looked at; more of one are shown by its own page. */
const mostLookedAt = 1000;
const mostShown = 8;

/** The certificates that expire next, of authorities whose certificates may be listed; nothing where none does soon. */
export function ExpiringSoon() {
  const { transport } = useSession();
  const authorities = useMounts()
    .secret.filter(({ type }) => type === 'pki')
    .slice(0, mostMounts);
  const readable = useReadable(
    authorities.map(({ path }) => `${path}certs/detailed`),
    [],
    'list',
  );
  const asked = authorities.filter(({ path }) => readable.has(`${path}certs/detailed`));
  const lists = useQueries({
    queries: asked.map(({ path }) => ({
      queryKey: ['v1', path, 'expiring'],
      staleTime: 60_000,
      retry: false,
      queryFn: async () => {
        const found = await listed<CertificateInfo>(transport, `${encodedPath(path)}certs/detailed`, mostLookedAt);
        const revoked = new Set((await listed(transport, `${encodedPath(path)}certs/revoked`)).keys);
        return {
          ...found,
          keys: found.keys.filter((serial) => !revoked.has(serial)),
          isCut: found.keys.length >= mostLookedAt,
        };
      },
    })),
  });
  const now = Date.now();
  const ending = lists
    .flatMap(({ data }, at) =>
      (data?.keys ?? []).map((serial) => ({
        serial,
        mount: asked[at]!.path,
        name: data?.key_info?.[serial]?.common_name || serial,
        until: Date.parse(data?.key_info?.[serial]?.not_after ?? ''),
      })),
    )
    .filter(({ until }) => until > now && until < now + soonMs)
    .sort((one, other) => one.until - other.until);
  const cut = asked.filter((_, at) => lists[at]?.data?.isCut);
  if (ending.length === 0) return null;
  return (
    <section className="stack-tight" aria-labelledby="expiring">
      <h2 id="expiring">Certificates that expire soon</h2>
      <Table
        label="Certificates that expire soon"
        rows={ending.slice(0, mostShown)}
        keyOf={({ mount, serial }) => `${mount} ${serial}`}
        narrow="flow"
        columns={[
          {
            head: 'Certificate',
            cell: ({ mount, name }) => (
              <Link {...mountPage({ mount, tab: 'certificates' })} className="row">
                <FileBadge size={15} className="second" aria-hidden="true" />
                {name}
              </Link>
            ),
          },
          { head: 'Engine', cell: ({ mount }) => mount },
          { head: 'Expires', className: 'tight', cell: ({ until }) => <Time at={until} /> },
          {
            head: 'State',
            className: 'tight',
            cell: ({ until }) =>
              until < now + urgentMs ? <Badge tone="amber">within a week</Badge> : <Badge>within a month</Badge>,
          },
        ]}
      />
      {ending.length > mostShown || cut.length > 0 ? (
        <p className="second small">
          {ending.length > mostShown ? `${(ending.length - mostShown).toLocaleString('en')} more within a month. ` : ''}
          {cut.length > 0
            ? `Only the first ${mostLookedAt.toLocaleString('en')} certificates of ${cut.map(({ path }) => path).join(', ')} were looked at.`
            : ''}
        </p>
      ) : null}
    </section>
  );
}
