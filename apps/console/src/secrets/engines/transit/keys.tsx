import { LockKeyhole } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { CreateButton } from '../../../design/button';
import { encodedPath, useList } from '../../reads';
import { RecordTable } from '../record-table';
import { spanOf } from '../ttl-field';
import { encryptsFrom, type TransitKey } from './key';
import { NewKey } from './new-key';

/** The keys of a mount, with their configuration. */
export function Keys({ mount }: { readonly mount: string }) {
  const names = useList(`${encodedPath(mount)}keys`);
  const [adding, setAdding] = useState(false);
  const add = <CreateButton onClick={() => setAdding(true)}>Create key</CreateButton>;
  return (
    <>
      <RecordTable<TransitKey>
        mount={mount}
        tab="keys"
        add={add}
        empty={{
          icon: LockKeyhole,
          command: `keystead write -f ${mount}keys/orders`,
          text: 'Applications encrypt, sign and verify with the keys of this engine without ever holding them. Create a key first: its page encrypts and signs, too.',
        }}
        columns={[
          {
            head: 'Type',
            cell: ({ type, soft_deleted }) => (
              <span className="row">
                {type}
                {soft_deleted ? <Badge tone="red">disabled</Badge> : null}
              </span>
            ),
            sortBy: (key) => key?.type ?? '',
          },
          {
            head: 'Newest version',
            cell: ({ latest_version }) => latest_version,
            sortBy: (key) => key?.latest_version ?? 0,
          },
          { head: 'Decrypts from', cell: ({ min_decryption_version }) => min_decryption_version },
          { head: 'Encrypts from', cell: encryptsFrom },
          {
            head: 'Auto-rotation',
            cell: ({ auto_rotate_period: period }) =>
              period === 0 ? <span className="second">never</span> : `every ${spanOf(period)}`,
            sortBy: (key) => key?.auto_rotate_period ?? 0,
          },
          {
            head: 'Deletion',
            cell: ({ deletion_allowed }) =>
              deletion_allowed ? 'allowed' : <span className="second">not allowed</span>,
          },
        ]}
      />
      {adding ? <NewKey mount={mount} existing={names.data ?? []} onClose={() => setAdding(false)} /> : null}
    </>
  );
}
