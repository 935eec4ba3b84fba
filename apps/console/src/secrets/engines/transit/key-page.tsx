import { useNavigate } from '@tanstack/react-router';
import { Download, Pencil, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { CopyButton } from '../../../design/copy';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { Facts } from '../../../design/facts';
import { Notice } from '../../../design/notice';
import { PageHead, SameBy, Skeleton } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { Table } from '../../../design/table';
import { Time } from '../../../design/time';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useRead } from '../../reads';
import { crumbsTo } from '../own-page';
import { spanOf } from '../ttl-field';
import { EditKey } from './edit-key';
import { encryptsFrom, familyOf, keyTypes, rotates, type TransitKey } from './key';
import { Pad } from './pad';

/** A key: use it with text and files, and see its versions and configuration. */
export function KeyPage({ mount, name }: { readonly mount: string; readonly name: string }) {
  const path = `${mount}keys/${name}`;
  const at = `${encodedPath(mount)}keys/${encodeURIComponent(name)}`;
  const found = useRead<TransitKey>(at);
  const key = found.data;
  const may = useMay([path, `${path}/rotate`, `${path}/config`, `${path}/soft-delete-restore`]);
  const change = useChange();
  const navigate = useNavigate();
  const remove = useChange(() => void navigate(mountPage({ mount, tab: 'keys' })));
  const [open, setOpen] = useState<'rotate' | 'edit' | 'delete'>();
  const close = () => setOpen(undefined);
  const write = (below: string) => ({ path: `${path}/${below}`, capabilities: ['update'] as const });
  return (
    <div className="stack">
      <PageHead
        title={name}
        crumbs={crumbsTo(mount, 'keys')}
        state={key === undefined ? null : <span className="second small">{key.type}</span>}
        actions={
          key === undefined ? undefined : (
            <>
              <Button
                icon={RotateCw}
                {...(rotates(key)
                  ? may(write('rotate'))
                  : { forbidden: 'The key was imported, and its import did not allow rotation here.' })}
                onClick={() => setOpen('rotate')}
              >
                Rotate
              </Button>
              <Button icon={Pencil} {...may(write('config'))} onClick={() => setOpen('edit')}>
                Edit
              </Button>
              <Button
                kind="danger"
                icon={Trash2}
                {...(key.deletion_allowed
                  ? may({ path, capabilities: ['delete'] })
                  : { forbidden: 'Deletion is not allowed for this key. Edit it, and allow deletion first.' })}
                onClick={() => setOpen('delete')}
              >
                Delete
              </Button>
            </>
          )
        }
      />
      <ErrorNotice error={found.error ?? change.error ?? remove.error} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {key?.soft_deleted ? (
        <Notice tone="amber">
          <span>This key is disabled: it refuses every use until it is restored.</span>
          <span>
            <Button
              small
              {...may(write('soft-delete-restore'))}
              onClick={() => change.mutate({ method: 'POST', path: `${at}/soft-delete-restore` })}
            >
              Restore
            </Button>
          </span>
        </Notice>
      ) : null}
      {key === undefined ? null : (
        <div className="columns">
          <div className="stack">
            <Pad mount={mount} of={key} />
            <Versions of={key} />
          </div>
          <KeyFacts of={key} />
        </div>
      )}
      {open === 'rotate' && key !== undefined ? (
        <Confirm
          title={`Rotate ${name}?`}
          action="Rotate"
          busy={change.isPending}
          onClose={close}
          onConfirm={() => change.mutate({ method: 'POST', path: `${at}/rotate` }, { onSettled: close })}
        >
          <p>
            Version {key.latest_version + 1} is added and used from now on. Older versions still decrypt and verify.
          </p>
        </Confirm>
      ) : null}
      {open === 'edit' && key !== undefined ? <EditKey mount={mount} of={key} onClose={close} /> : null}
      {open === 'delete' ? (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete key"
          name={name}
          danger
          busy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: at }, { onSettled: close })}
        >
          <p>All of its versions are deleted permanently. Data that they encrypted can never be decrypted again.</p>
        </Confirm>
      ) : null}
      <SameBy api={`GET /v1/${path}`} command={`keystead read ${path}`} />
    </div>
  );
}

function KeyFacts({ of: key }: { readonly of: TransitKey }) {
  const yes = (value: boolean | undefined) => (value ? 'yes' : 'no');
  const facts: readonly (readonly [string, string | number])[] = [
    ['Newest version', key.latest_version],
    ['Decrypts from', key.min_decryption_version],
    ['Encrypts from', key.min_encryption_version === 0 ? `${encryptsFrom(key)} (newest)` : key.min_encryption_version],
    ['Auto-rotation', key.auto_rotate_period === 0 ? 'never' : `every ${spanOf(key.auto_rotate_period)}`],
    ['Deletion', key.deletion_allowed ? 'allowed' : 'not allowed'],
    ['Exportable', yes(key.exportable)],
    ...(key.derived ? [['Derived', 'yes'] as const] : []),
    ...(key.convergent_encryption ? [['Convergent', 'yes'] as const] : []),
    ...(key.imported_key ? [['Imported', 'yes'] as const] : []),
  ];
  const type = keyTypes.find(({ value }) => value === key.type);
  return (
    <aside className="stack-tight" aria-labelledby="facts">
      <h2 id="facts">Key</h2>
      {type === undefined ? null : <p className="second small">{type.sentence}</p>}
      <Facts rows={facts} />
    </aside>
  );
}

interface ShownVersion {
  readonly number: number;
  readonly created: string | number | undefined;
  readonly publicKey: string | undefined;
}

/** All versions that the service keeps, newest first. */
function versionsOf({ latest_version: latest, min_available_version: oldest, keys = {} }: TransitKey): ShownVersion[] {
  return Array.from({ length: latest - Math.max(1, oldest) + 1 }, (_, at) => {
    const number = latest - at;
    const version = keys[number];
    return typeof version === 'object'
      ? { number, created: version.creation_time, publicKey: version.public_key }
      : { number, created: version === undefined ? undefined : version * 1000, publicKey: undefined };
  });
}

const mostShown = 50;

function Versions({ of: key }: { readonly of: TransitKey }) {
  const [all, setAll] = useState(false);
  const versions = versionsOf(key);
  const shown = all ? versions : versions.slice(0, mostShown);
  const isPair = key.supports_signing;
  const stateOf = ({ number }: ShownVersion) => {
    if (number === key.latest_version) return <Badge tone="green">newest</Badge>;
    if (number < key.min_decryption_version) return <Badge tone="red">not accepted</Badge>;
    if (number >= key.min_encryption_version) return <Badge>older</Badge>;
    return <Badge>{key.supports_encryption ? 'decrypts only' : 'verifies only'}</Badge>;
  };
  const isPem = familyOf(key) !== 'ed25519';
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      <Table
        label="Versions"
        rows={shown}
        keyOf={({ number }) => String(number)}
        narrow="stacked"
        columns={[
          { head: 'Version', className: 'tight', cell: ({ number }) => number },
          { head: 'State', cell: stateOf },
          ...(familyOf(key) === 'hmac'
            ? []
            : [
                {
                  head: 'Created',
                  cell: ({ created }: ShownVersion) =>
                    created === undefined ? <span className="second">–</span> : <Time at={created} />,
                },
              ]),
          ...(isPair
            ? [
                {
                  head: 'Public key',
                  cell: ({ publicKey, number }: ShownVersion) =>
                    publicKey ? (
                      <span className="row">
                        {isPem ? null : <code>{publicKey}</code>}
                        <CopyButton text={publicKey} what={`public key ${number}`} />
                        <Button
                          small
                          kind="quiet"
                          icon={Download}
                          label={`Download public key ${number}`}
                          onClick={() => saveFile(`${key.name}-${number}.${isPem ? 'pem' : 'pub'}`, publicKey)}
                        >
                          Download
                        </Button>
                      </span>
                    ) : (
                      <span className="second">{key.derived ? 'one for each context' : '–'}</span>
                    ),
                },
              ]
            : []),
        ]}
      />
      {shown.length < versions.length ? (
        <div>
          <Button small onClick={() => setAll(true)}>
            Show all {versions.length} versions
          </Button>
        </div>
      ) : null}
    </section>
  );
}
