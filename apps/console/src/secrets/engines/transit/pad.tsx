import { useState } from 'react';
import { TabList } from '../../../design/tab-list';
import { DataKey, Decrypt, Encrypt, Rewrap } from './encrypt-forms';
import type { TransitKey } from './key';

import { emptyPad, type PadState } from './pad-state';
import { Export, Hmac, Sign, Verify } from './sign-forms';

const uses = {
  encrypt: { label: 'Encrypt', Form: Encrypt },
  decrypt: { label: 'Decrypt', Form: Decrypt },
  rewrap: { label: 'Rewrap', Form: Rewrap },
  datakey: { label: 'Data key', Form: DataKey },
  sign: { label: 'Sign', Form: Sign },
  verify: { label: 'Verify', Form: Verify },
  hmac: { label: 'HMAC', Form: Hmac },
  export: { label: 'Export', Form: Export },
} as const;
type Use = keyof typeof uses;

/** Encrypts, decrypts, signs and verifies text and files with a key, depending on its type. */
export function Pad({ mount, of: key }: { readonly mount: string; readonly of: TransitKey }) {
  const tabs: readonly Use[] = [
    ...(key.supports_encryption ? (['encrypt', 'decrypt', 'rewrap', 'datakey'] as const) : []),
    ...(key.supports_signing ? (['sign'] as const) : []),
    'verify',
    'hmac',
    ...(key.exportable ? (['export'] as const) : []),
  ];
  const [use, setUse] = useState<Use>(tabs.includes('encrypt') || tabs.includes('sign') ? tabs[0]! : 'hmac');
  // Shared by all tabs, so that an encrypted text can be decrypted and a signature verified.
  const [state, setState] = useState<PadState>(emptyPad);
  const { Form } = uses[use];
  return (
    <section className="panel stack" aria-labelledby="pad">
      <h2 id="pad" className="visually-hidden">
        Use this key
      </h2>
      <TabList
        label="Uses of this key"
        tabs={tabs.map((tab) => ({ tab, label: uses[tab].label }))}
        chosen={use}
        onChange={setUse}
      />
      <div role="tabpanel" aria-label={uses[use].label}>
        <Form
          key={use}
          mount={mount}
          of={key}
          state={state}
          onChange={(part) => setState((before) => ({ ...before, ...part }))}
        />
      </div>
    </section>
  );
}
