import { exactJson } from '@keystead/envelope';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { saveFile } from '../../design/save-file';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import { WhoRead } from '../audit/reads';
import { useMay } from '../may';
import { hasVersions, type Mount } from '../mounts';
import { page } from '../pages';
import { crumbsOf } from './crumbs';
import { Difference } from './difference';
import { EditSecret } from './edit-secret';
import { Relocate } from './relocate';
import { Removal } from './removal';
import { ShareOnce } from './share-once';
import { type Secret, textOf, useSecret, valuesAt } from './values';
import { useVersions, Versions } from './versions';

/** A secret: masked fields, versions and actions. */
export function SecretPage({
  mount,
  path,
  version,
  compared,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly version: number | undefined;
  readonly compared: number | undefined;
}) {
  const secret = useSecret(mount, path, version);
  const [doing, setDoing] = useState<'edit' | 'share' | 'move' | 'remove'>();
  const navigate = useNavigate();
  const at = mount.path + path;
  const title = path.split('/').at(-1)!;
  const versioned = hasVersions(mount);
  const { data } = secret;
  const current = useVersions(mount, path, versioned).data?.current_version;
  const close = () => setDoing(undefined);
  const values = valuesAt(mount, path);
  const metadata = `${mount.path}metadata/${path}`;
  const may = useMay(versioned ? [values, metadata, `${mount.path}move`, `${mount.path}copy`] : [values]);
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={crumbsOf(mount, path)}
        state={<State secret={data} isCurrent={version === undefined || version === current} />}
        actions={
          data ? (
            <>
              <Button
                onClick={() => setDoing('share')}
                forbidden={data.data ? undefined : 'there is no value to share'}
              >
                Share once
              </Button>
              <Button {...may({ path: values, capabilities: ['update'] })} onClick={() => setDoing('edit')}>
                {versioned ? 'Create version' : 'Edit'}
              </Button>
              <Button
                forbidden={data.data ? undefined : 'there is no value to export'}
                onClick={() => saveFile(`${title}.json`, `${exactJson(data.data, 2)}\n`, 'application/json')}
              >
                Export
              </Button>
              {versioned ? (
                <Button
                  {...may(
                    { path: `${mount.path}move`, capabilities: ['update'] },
                    { path: `${mount.path}copy`, capabilities: ['update'] },
                  )}
                  onClick={() => setDoing('move')}
                >
                  Move or copy
                </Button>
              ) : null}
              <Button
                kind="danger"
                {...may(
                  { path: values, capabilities: ['delete'] },
                  ...(versioned ? [{ path: metadata, capabilities: ['delete'] as const }] : []),
                )}
                onClick={() => setDoing('remove')}
              >
                Delete
              </Button>
            </>
          ) : undefined
        }
      />
      <ErrorNotice error={secret.error} onRetry={() => void secret.refetch()} />
      {secret.isPending ? <Skeleton rows={3} /> : null}
      {data === null ? (
        <Empty command={`keystead kv put ${at} password=…`}>There is no secret at {at}, or it is gone.</Empty>
      ) : null}
      {data?.data ? (
        <ValuesShown key={`${at} ${data.version}`}>
          <dl className="facts">
            {Object.entries(data.data).map(([name, value]) => (
              <FieldFact key={name} name={name} value={textOf(value)} />
            ))}
          </dl>
          {Object.keys(data.data).length === 0 ? <p className="second">This version has no fields.</p> : null}
        </ValuesShown>
      ) : null}
      {data && !data.data ? (
        <Empty>
          {data.destroyed
            ? `Version ${data.version} is destroyed and cannot be restored.`
            : `Version ${data.version} is deleted. It can be undeleted below.`}
        </Empty>
      ) : null}
      {compared !== undefined && data?.version !== undefined ? (
        <Difference mount={mount} path={path} before={compared} after={data.version} />
      ) : null}
      {versioned && data ? <Versions mount={mount} path={path} shown={data.version} /> : null}
      {data ? <WhoRead at={values} /> : null}
      <p className="second">
        <Link {...page('/policies/explain', { path: valuesAt(mount, path), operation: 'read' })}>
          Who can read this?
        </Link>
      </p>
      {doing === 'edit' && data ? <EditSecret mount={mount} path={path} secret={data} onClose={close} /> : null}
      {doing === 'share' ? <ShareOnce mount={mount} path={path} version={version} onClose={close} /> : null}
      {doing === 'move' ? (
        <Relocate
          mount={mount}
          from={path}
          onClose={close}
          onDone={(to) => void navigate(page('/secrets', { at: mount.path + to }))}
        />
      ) : null}
      {doing === 'remove' && data ? (
        <Removal
          mount={mount}
          path={path}
          onClose={close}
          onGone={() => {
            const folder = path.slice(0, path.lastIndexOf('/') + 1);
            void navigate(page('/secrets', { at: mount.path + folder }));
          }}
        />
      ) : null}
      <SameBy
        api={`GET /v1/${valuesAt(mount, path)}${version === undefined ? '' : `?version=${version}`}`}
        command={`keystead kv get ${version === undefined ? '' : `-version=${version} `}${at}`}
      />
    </div>
  );
}

function FieldFact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>
        <code>{name}</code>
      </dt>
      <dd>
        <SecretValue name={name} value={value} />
      </dd>
    </>
  );
}

function State({ secret, isCurrent }: { readonly secret: Secret | null | undefined; readonly isCurrent: boolean }) {
  if (secret?.version === undefined) return null;
  if (secret.destroyed) return <Badge tone="red">version {secret.version} destroyed</Badge>;
  if (secret.deletedAt !== undefined) return <Badge tone="amber">version {secret.version} deleted</Badge>;
  return (
    <Badge tone={isCurrent ? 'green' : 'accent'}>
      version {secret.version}
      {isCurrent ? ', current' : ''}
    </Badge>
  );
}
