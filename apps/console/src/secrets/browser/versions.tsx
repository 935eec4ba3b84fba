import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { isDenied } from '../../api/api-error';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { useMay } from '../may';
import type { Mount } from '../mounts';
import { page } from '../pages';
import { encodedPath, useChange, useRead } from '../reads';
import { Metadata, type MetadataSettings } from './metadata';
import { valuesAt } from './values';

interface SecretMetadata extends MetadataSettings {
  readonly current_version: number;
  readonly versions: Readonly<Record<string, VersionFacts>>;
}
interface VersionFacts {
  /** Null if the author is unknown. */
  readonly created_by: { readonly display_name: string; readonly entity_id: string } | null;
  readonly created_time: string;
  readonly deletion_time: string;
  readonly destroyed: boolean;
}

const isDeleted = ({ deletion_time: at }: VersionFacts): boolean => at !== '' && Date.parse(at) <= Date.now();

/** Metadata of a secret with versions. */
export const useVersions = (mount: Mount, path: string, enabled = true) =>
  useRead<SecretMetadata>(encodedPath(`${mount.path}metadata/${path}`), { enabled });

/** The versions of a secret: view, compare, delete, undelete, destroy. */
export function Versions({
  mount,
  path,
  shown,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly shown: number | undefined;
}) {
  const metadata = useVersions(mount, path);
  const change = useChange();
  const { transport } = useSession();
  const queries = useQueryClient();
  const [destroying, setDestroying] = useState<number>();
  const [failure, setFailure] = useState<unknown>();
  const act = (action: 'delete' | 'undelete' | 'destroy', version: number) =>
    change.mutate(
      { method: 'POST', path: encodedPath(`${mount.path}${action}/${path}`), body: { versions: [version] } },
      { onSettled: () => action === 'destroy' && setDestroying(undefined) },
    );
  const at = mount.path + path;
  // Writes an old version as the latest one, unless a newer version was written in the meantime.
  const restore = async (version: number) => {
    setFailure(undefined);
    const values = `/v1/${encodedPath(valuesAt(mount, path))}`;
    const { data } = await transport.call<{ data: { data: unknown } }>('GET', `${values}?version=${version}`);
    const cas = metadata.data?.current_version;
    await transport.call('POST', values, { data: data.data, options: { cas } });
    await queries.invalidateQueries({ queryKey: ['v1'] });
  };
  const placeOf = (action: string) => `${mount.path}${action}/${path}`;
  const may = useMay(['data', 'delete', 'undelete', 'destroy'].map(placeOf));
  const mayDo = (action: string) => may({ path: placeOf(action), capabilities: ['update'] });
  const rows = Object.entries(metadata.data?.versions ?? {})
    .map(([number, facts]) => ({ number: Number(number), ...facts }))
    .sort((a, b) => b.number - a.number);
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      {isDenied(metadata.error) ? (
        <p className="second">Your policies show you the value, but not its versions and metadata.</p>
      ) : null}
      <ErrorNotice error={(isDenied(metadata.error) ? null : metadata.error) ?? change.error ?? failure} />
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
                  <Badge tone="green">current</Badge>
                ) : (
                  <Badge>available</Badge>
                ),
            },
            { head: 'Written', cell: ({ created_time }) => <Time at={created_time} /> },
            {
              head: 'By',
              cell: ({ created_by: author }) =>
                author === null ? (
                  <span className="second">unknown</span>
                ) : author.entity_id === '' ? (
                  author.display_name
                ) : (
                  <Link {...page('/access/entities', { id: author.entity_id })}>{author.display_name}</Link>
                ),
            },
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
                    {destroyed || deleted || number === metadata.data?.current_version ? null : (
                      <Button
                        small
                        kind="quiet"
                        label={`Restore version ${number}`}
                        {...mayDo('data')}
                        onClick={() => void restore(number).catch(setFailure)}
                      >
                        Restore
                      </Button>
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
                          kind="danger"
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
      {metadata.data === undefined ? null : <Metadata mount={mount} path={path} metadata={metadata.data} />}
      {destroying === undefined ? null : (
        <Confirm
          title={`Destroy version ${destroying}?`}
          action={`Destroy version ${destroying}`}
          danger
          busy={change.isPending}
          onClose={() => setDestroying(undefined)}
          onConfirm={() => act('destroy', destroying)}
        >
          <p>Its data is permanently deleted. The version number stays in the list.</p>
        </Confirm>
      )}
    </section>
  );
}
