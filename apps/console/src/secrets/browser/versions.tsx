import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useMay } from '../may';
import type { Mount } from '../mounts';
import { page } from '../pages';
import { encodedPath, useChange, useRead } from '../reads';

interface SecretMetadata {
  readonly current_version: number;
  readonly max_versions: number;
  readonly versions: Readonly<Record<string, VersionFacts>>;
}
interface VersionFacts {
  readonly created_time: string;
  readonly deletion_time: string;
  readonly destroyed: boolean;
}

const isDeleted = ({ deletion_time: at }: VersionFacts): boolean => at !== '' && Date.parse(at) <= Date.now();

/** The versions of a secret: look, compare, delete, undelete, destroy. */
export function Versions({
  mount,
  path,
  shown,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly shown: number | undefined;
}) {
  const metadata = useRead<SecretMetadata>(encodedPath(`${mount.path}metadata/${path}`));
  const change = useChange();
  const [destroying, setDestroying] = useState<number>();
  const act = (action: 'delete' | 'undelete' | 'destroy', version: number) =>
    change.mutate(
      { method: 'POST', path: encodedPath(`${mount.path}${action}/${path}`), body: { versions: [version] } },
      { onSettled: () => action === 'destroy' && setDestroying(undefined) },
    );
  const at = mount.path + path;
  const placeOf = (action: string) => `${mount.path}${action}/${path}`;
  const may = useMay(['delete', 'undelete', 'destroy'].map(placeOf));
  const mayDo = (action: string) => may({ path: placeOf(action), capabilities: ['update'] });
  const rows = Object.entries(metadata.data?.versions ?? {})
    .map(([number, facts]) => ({ number: Number(number), ...facts }))
    .sort((a, b) => b.number - a.number);
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      <ErrorNotice error={metadata.error ?? change.error} />
      {metadata.isPending ? <Skeleton rows={2} /> : null}
      {rows.length === 0 ? null : (
        <Table
          label="Versions"
          rows={rows}
          keyOf={({ number }) => String(number)}
          narrow="flow"
          columns={[
            {
              head: 'Version',
              className: 'tight',
              cell: ({ number }) => <Link {...page('/secrets', { at, version: number })}>{number}</Link>,
            },
            {
              head: 'State',
              className: 'tight',
              cell: (version) =>
                version.destroyed ? (
                  <Badge tone="red">destroyed</Badge>
                ) : isDeleted(version) ? (
                  <Badge tone="amber">deleted</Badge>
                ) : version.number === metadata.data?.current_version ? (
                  <Badge tone="green">newest</Badge>
                ) : (
                  <Badge>kept</Badge>
                ),
            },
            { head: 'Written', cell: ({ created_time }) => <Time at={created_time} /> },
            {
              head: '',
              className: 'tight',
              cell: (version) => {
                const { number, destroyed } = version;
                const deleted = isDeleted(version);
                return (
                  <>
                    {destroyed || deleted || shown === undefined || number === shown ? null : (
                      <Link
                        className="button quiet small"
                        {...page('/secrets', {
                          at,
                          version: Math.max(shown, number),
                          with: Math.min(shown, number),
                        })}
                      >
                        Compare with {shown}
                      </Link>
                    )}
                    {destroyed ? null : (
                      <>
                        <Button
                          small
                          kind="quiet"
                          label={`${deleted ? 'Undelete' : 'Delete'} version ${number}`}
                          {...mayDo(deleted ? 'undelete' : 'delete')}
                          onClick={() => act(deleted ? 'undelete' : 'delete', number)}
                        >
                          {deleted ? 'Undelete' : 'Delete'}
                        </Button>
                        <Button
                          small
                          kind="quiet"
                          label={`Destroy version ${number}`}
                          {...mayDo('destroy')}
                          onClick={() => setDestroying(number)}
                        >
                          Destroy
                        </Button>
                      </>
                    )}
                  </>
                );
              },
            },
          ]}
        />
      )}
      {metadata.data === undefined ? null : (
        <p className="second small">
          {metadata.data.max_versions === 0
            ? 'As many as the engine keeps.'
            : `The newest ${metadata.data.max_versions} are kept.`}
        </p>
      )}
      {destroying === undefined ? null : (
        <Confirm
          title={`Destroy version ${destroying}?`}
          action={`Destroy version ${destroying}`}
          danger
          busy={change.isPending}
          onClose={() => setDestroying(undefined)}
          onConfirm={() => act('destroy', destroying)}
        >
          <p>Its values are gone for good. That there was such a version is still told.</p>
        </Confirm>
      )}
    </section>
  );
}
