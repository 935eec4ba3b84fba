import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { counted } from '../../../design/counted';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange } from '../../reads';
import { PastedField } from '../pasted-field';

interface Imported {
  readonly data: {
    readonly imported_issuers: readonly string[] | null;
    readonly imported_keys: readonly string[] | null;
    readonly existing_issuers: readonly string[] | null;
    readonly existing_keys: readonly string[] | null;
  };
}

/** Imports CA certificates, with their keys or without. */
export function ImportCa({ mount }: { readonly mount: string }) {
  const [text, setText] = useState('');
  const path = `${mount}issuers/import/bundle`;
  const may = useMay([path]);
  const change = useChange<Imported>(() => setText(''));
  const imported = change.data?.data;
  const sum = (...lists: (readonly string[] | null | undefined)[]) =>
    lists.reduce((total, list) => total + (list?.length ?? 0), 0);
  return (
    <div className="stack">
      <Form
        action="Import"
        change={change}
        {...may({ path, capabilities: ['update'] })}
        onSend={() => change.mutate({ method: 'POST', path: encodedPath(path), body: { pem_bundle: text } })}
      >
        <PastedField
          label="Certificates and keys"
          value={text}
          onChange={setText}
          hint="In PEM, in any order. Keys must not be encrypted; they are stored and never shown again."
        />
      </Form>
      {imported === undefined ? null : (
        <Notice tone="green" alert>
          <span>
            Imported {counted(sum(imported.imported_issuers), 'issuer')} and{' '}
            {counted(sum(imported.imported_keys), 'key')}
            {sum(imported.existing_issuers, imported.existing_keys) === 0
              ? '.'
              : `; ${sum(imported.existing_issuers, imported.existing_keys)} were there already.`}
          </span>
          <span>
            <Link {...mountPage({ mount, tab: 'issuers' })}>Issuers</Link>
          </span>
        </Notice>
      )}
    </div>
  );
}
