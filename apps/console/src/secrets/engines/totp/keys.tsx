import { KeyRound } from 'lucide-react';
import { CreateLink } from '../create-link';
import { RecordTable } from '../record-table';

/** A key as the API shows it. */
export interface TotpKey {
  readonly account_name: string;
  readonly issuer: string;
  readonly algorithm: string;
  readonly digits: number;
  readonly period: number;
}

/** The keys of a mount. */
export function Keys({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<TotpKey>
      mount={mount}
      tab="keys"
      add={
        <CreateLink mount={mount} tab="keys">
          Create key
        </CreateLink>
      }
      empty={{
        icon: KeyRound,
        command: `keystead write ${mount}keys/ana generate=true issuer=Example account_name=ana@example.com`,
        text: 'Generate a key to check the codes of someone’s authenticator app, or import a key to see its codes here.',
      }}
      columns={[
        {
          head: 'Account name',
          cell: ({ account_name }) => account_name || '–',
          sortBy: (key) => key?.account_name ?? '',
        },
        { head: 'Issuer', cell: ({ issuer }) => issuer || '–', sortBy: (key) => key?.issuer ?? '' },
        { head: 'Algorithm', cell: ({ algorithm }) => algorithm },
        { head: 'Digits', cell: ({ digits }) => digits },
        { head: 'Period', cell: ({ period }) => `${period} s` },
      ]}
    />
  );
}
