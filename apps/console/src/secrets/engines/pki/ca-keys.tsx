import { Link } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Copied } from '../../../design/copy';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { TextField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { Empty, Skeleton } from '../../../design/page';
import { Table } from '../../../design/table';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useListing } from '../../reads';
import { useIssuers } from './issuers-of';

interface KeyInfo {
  readonly key_name: string;
  readonly is_default: boolean;
}

/** The private keys of a mount, and which issuers use them. */
export function CaKeys({ mount }: { readonly mount: string }) {
  const at = encodedPath(mount);
  const list = useListing<KeyInfo>(`${at}keys`);
  const { rows: issuers } = useIssuers(mount);
  const may = useMay((list.data?.keys ?? []).map((id) => `${mount}key/${id}`));
  const change = useChange(() => setOpen(undefined));
  const [open, setOpen] = useState<{ readonly id: string; readonly what: 'rename' | 'delete' }>();
  const [name, setName] = useState('');
  const info = list.data?.key_info ?? {};
  const labelOf = (id: string) => info[id]?.key_name || id;
  if (list.error) return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />;
  if (list.data === undefined) return <Skeleton />;
  if (list.data.keys.length === 0) {
    return (
      <Empty
        icon={KeyRound}
        action={
          <Link className="button primary" {...mountPage({ mount, tab: 'issuers', create: true })}>
            Create a CA
          </Link>
        }
      >
        The private keys of CAs are here; none ever leaves the service. Each new CA brings its key.
      </Empty>
    );
  }
  const close = () => setOpen(undefined);
  const usersOf = (id: string) => issuers.filter(({ key_id }) => key_id === id);
  return (
    <>
      <Table
        label="Keys"
        rows={list.data.keys}
        keyOf={(id) => id}
        narrow="stacked"
        columns={[
          {
            head: 'Name',
            cell: (id) => (
              <span className="row">
                {info[id]?.key_name || <span className="second">no name</span>}
                {info[id]?.is_default ? <Badge tone="accent">default</Badge> : null}
              </span>
            ),
            sortBy: labelOf,
          },
          { head: 'ID', cell: (id) => <Copied text={id} what="key ID" /> },
          {
            head: 'Used by',
            cell: (id) =>
              usersOf(id).length === 0 ? (
                <span className="second">no issuer</span>
              ) : (
                <span className="row">
                  {usersOf(id).map((issuer) => (
                    <Link key={issuer.id} {...mountPage({ mount, tab: 'issuers', name: issuer.id })}>
                      {issuer.label}
                    </Link>
                  ))}
                </span>
              ),
          },
          {
            head: '',
            className: 'tight',
            cell: (id) => (
              <div className="row">
                <Button
                  small
                  kind="quiet"
                  label={`Rename key ${labelOf(id)}`}
                  {...may({ path: `${mount}key/${id}`, capabilities: ['update'] })}
                  onClick={() => {
                    setName(info[id]?.key_name ?? '');
                    setOpen({ id, what: 'rename' });
                  }}
                >
                  Rename
                </Button>
                <Button
                  small
                  kind="quiet"
                  label={`Delete key ${labelOf(id)}`}
                  {...(usersOf(id).length > 0
                    ? { forbidden: 'An issuer uses this key: delete the issuer first.' }
                    : may({ path: `${mount}key/${id}`, capabilities: ['delete'] }))}
                  onClick={() => setOpen({ id, what: 'delete' })}
                >
                  Delete
                </Button>
              </div>
            ),
          },
        ]}
      />
      {open?.what === 'rename' ? (
        <FormDialog
          title={`Rename key ${labelOf(open.id)}`}
          action="Save"
          change={change}
          onBack={close}
          onSend={() => change.mutate({ method: 'POST', path: `${at}key/${open.id}`, body: { key_name: name } })}
        >
          <TextField label="Name" autoFocus value={name} onChange={setName} />
        </FormDialog>
      ) : null}
      {open?.what === 'delete' ? (
        <Confirm
          title={`Delete key ${labelOf(open.id)}?`}
          action="Delete key"
          name={labelOf(open.id)}
          danger
          busy={change.isPending}
          onClose={close}
          onConfirm={() => change.mutate({ method: 'DELETE', path: `${at}key/${open.id}` })}
        >
          <p>It is deleted permanently.</p>
          <ErrorNotice error={change.error} />
        </Confirm>
      ) : null}
    </>
  );
}
