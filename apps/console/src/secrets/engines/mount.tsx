import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Pencil } from 'lucide-react';
import { Suspense, useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { useMay } from '../may';
import { holdsValues, kindOf, useMounts } from '../mounts';
import { mountPage, page, useAddress } from '../pages';
import { encodedPath, useChange } from '../reads';
import { CollectionList, CollectionRecord } from './collection-pages';
import { collectionsOf, labelOf, settingsOf } from './collections';
import { type Document, namesIn, placesOf } from './document';
import { MountSettings } from './mount-settings';
import { ownPages } from './own-pages';
import { PlaceForm } from './place';

/**
 * An engine or auth method: with pages written for its type, or else generated pages, and a form for each of its paths.
 */
export function MountPage() {
  const address = useAddress('/engines/mount');
  const { mount: at = '', create, place: chosen, at: below } = address;
  const { transport } = useSession();
  const navigate = useNavigate();
  const mounts = useMounts();
  const isAuth = at.startsWith('auth/');
  const mount = isAuth
    ? mounts.auth.find(({ path }) => `auth/${path}` === at)
    : mounts.secret.find(({ path }) => path === at);
  const own = isAuth ? undefined : ownPages.get(mount?.type ?? '');
  // Credentials are issued on the page of their role, if the engine has one.
  const role = own === undefined ? undefined : /^creds\/([^/]+)$/.exec(below ?? '')?.[1];
  const { tab: requestedTab, name } = role === undefined ? address : { tab: 'roles', name: role };
  const isPlace = role === undefined && (chosen !== undefined || below !== undefined);
  const ownTab = isPlace
    ? undefined
    : own?.tabs.find((one, at) => one.tab === requestedTab || (requestedTab === undefined && at === 0));
  const document = useQuery<Document>({
    queryKey: ['v1', 'openapi'],
    staleTime: 60_000,
    enabled: mounts.known && ownTab === undefined,
    queryFn: () => transport.call<Document>('GET', '/v1/sys/internal/specs/openapi'),
  });
  const change = useChange();
  const [disabling, setDisabling] = useState(false);
  const [tuning, setTuning] = useState(false);
  const places = document.data === undefined ? [] : placesOf(document.data, at);
  // The address contains either a pattern, or a concrete path such as the path of a lease.
  const place = places.find(({ pattern }) =>
    chosen === undefined && below !== undefined ? namesIn(pattern, below) !== undefined : pattern === chosen,
  );
  const collections = collectionsOf(places);
  const settings = settingsOf(places);
  const tabs = [
    ...(own?.tabs ?? collections.map(({ list, title }) => ({ tab: list, label: title }))),
    ...(own?.isComplete || (own === undefined && settings.length === 0)
      ? []
      : [{ tab: 'configuration', label: 'Configuration' }]),
    { tab: 'endpoints', label: 'All endpoints' },
  ];
  const tab = ownTab?.tab ?? (isPlace || places.length === 0 ? 'endpoints' : (requestedTab ?? tabs[0]?.tab));
  const collection = own === undefined ? collections.find(({ list }) => list === tab) : undefined;
  const crumbs = [isAuth ? { label: 'Auth methods', to: '/access' } : { label: 'Secrets engines', to: '/engines' }];
  const title = collection === undefined ? undefined : (name ?? (create ? `Create ${collection.one}` : undefined));
  const isFound = mount !== undefined;
  const mounting = isAuth ? `sys/auth/${mount?.path ?? ''}` : `sys/mounts/${mount?.path ?? ''}`;
  const may = useMay(isFound ? [mounting.replace(/\/$/, ''), `${mounting}tune`] : []);
  const ownPage =
    own === undefined || ownTab === undefined || mount === undefined ? null : (
      <Suspense fallback={<Skeleton rows={5} />}>
        <own.Page key={at} mount={mount} tab={ownTab.tab} name={name} create={create === true} />
      </Suspense>
    );
  if (ownPage !== null && (name !== undefined || create)) return ownPage;
  return (
    <div className="stack">
      <PageHead
        title={title ?? at.replace(/\/$/, '')}
        crumbs={
          place === undefined && title === undefined
            ? crumbs
            : [
                ...crumbs,
                {
                  label: at.replace(/\/$/, ''),
                  to: isAuth ? '/access/mount' : '/engines/mount',
                  search: { mount: at, ...(requestedTab ? { tab: requestedTab } : {}) },
                },
              ]
        }
        state={mount === undefined ? null : <span className="second small">{kindOf(mount)}</span>}
        actions={
          isFound &&
          mount.type !== 'cubbyhole' &&
          mount.type !== 'token' &&
          !['sys/', 'identity/'].includes(at) &&
          title === undefined ? (
            <>
              {!isAuth && holdsValues(mount) && place === undefined ? (
                <Link className="button primary" {...page('/secrets', { at })}>
                  Browse its secrets
                </Link>
              ) : null}
              <Button
                icon={Pencil}
                {...may({ path: `${mounting}tune`, capabilities: ['update'] })}
                onClick={() => setTuning(true)}
              >
                Edit
              </Button>
              <Button
                kind="danger"
                {...may({ path: mounting.replace(/\/$/, ''), capabilities: ['delete'] })}
                onClick={() => setDisabling(true)}
              >
                Disable
              </Button>
            </>
          ) : undefined
        }
      >
        {mount?.description ? <p className="second">{mount.description}</p> : null}
      </PageHead>
      <ErrorNotice error={mounts.error ?? document.error ?? change.error} />
      {mounts.known && !isFound ? (
        <Empty>
          {at.startsWith('auth/') ? 'No auth method' : 'No secrets engine'} that you may use is at {at}.
        </Empty>
      ) : null}
      {document.isLoading || !mounts.known ? <Skeleton rows={5} /> : null}
      {isFound && tabs.length > 1 ? (
        <nav className="tabs" aria-label={`Parts of ${at}`}>
          {tabs.map(({ tab: one, label }) => (
            <Link
              key={one}
              {...mountPage({ mount: at, tab: one })}
              aria-current={one === tab ? 'page' : undefined}
              activeProps={{}}
            >
              {label}
            </Link>
          ))}
        </nav>
      ) : null}
      {collection === undefined ? null : name !== undefined || create ? (
        <CollectionRecord key={`${at} ${tab} ${name}`} mount={at} collection={collection} name={name} />
      ) : (
        <CollectionList key={`${at} ${tab}`} mount={at} collection={collection} />
      )}
      {ownPage}
      {isFound &&
      tab === 'configuration' &&
      own !== undefined &&
      ownTab === undefined &&
      document.isSuccess &&
      settings.length === 0 ? (
        <Empty>Your policies allow no settings of this engine.</Empty>
      ) : null}
      {isFound && tab === 'configuration' && ownTab === undefined
        ? settings.map((one) => (
            <details key={one.pattern} className="panel" open={settings.length === 1}>
              <summary>{labelOf(one.pattern.split('/').at(-1)!)}</summary>
              <PlaceForm mount={at} place={one} named={{}} listed={undefined} isPart />
            </details>
          ))
        : null}
      {isFound && tab === 'endpoints' && place === undefined ? (
        <ul className="list" aria-label="What can be done here">
          {places.map(({ pattern, description }) => (
            <li key={pattern}>
              <Link {...mountPage({ mount: at, place: pattern })}>
                <code>{pattern || '(the engine itself)'}</code>
              </Link>
              <span className="second">{description}</span>
            </li>
          ))}
        </ul>
      ) : null}
      {place === undefined ? null : (
        <PlaceForm
          key={`${at} ${place.pattern} ${below ?? ''}`}
          mount={at}
          place={place}
          named={below === undefined ? {} : (namesIn(place.pattern, below) ?? {})}
          listed={places.find(({ pattern, lists }) => lists && sameFolder(pattern, place.pattern))?.pattern}
        />
      )}
      {tuning && isFound ? (
        <MountSettings title={`Settings of ${at}`} path={`${mounting}tune`} onClose={() => setTuning(false)} />
      ) : null}
      {disabling && isFound ? (
        <Confirm
          title={`Disable ${at}?`}
          action={`Disable ${at}`}
          name={at.replace(/\/$/, '')}
          danger
          busy={change.isPending}
          onClose={() => setDisabling(false)}
          onConfirm={() =>
            change.mutate(
              {
                method: 'DELETE',
                path: isAuth ? `sys/auth/${encodedPath(mount.path)}` : `sys/mounts/${encodedPath(mount.path)}`,
              },
              {
                onSuccess: () => void navigate({ to: isAuth ? '/access' : '/engines' }),
                onSettled: () => setDisabling(false),
              },
            )
          }
        >
          <p>
            {isAuth
              ? 'No one can log in with it, and all tokens that it issued are revoked.'
              : 'Everything it stores is deleted permanently, and its leases are revoked.'}
          </p>
        </Confirm>
      ) : null}
      <SameBy api="GET /v1/sys/internal/specs/openapi" command={`keystead path-help ${at}`} />
    </div>
  );
}

/** Whether a path lists the names for a pattern: `roles` for `roles/{name}`. */
const sameFolder = (list: string, pattern: string): boolean =>
  list.replace(/\/$/, '') === pattern.replace(/\/?\{\w+\}$/, '') && list !== pattern;
