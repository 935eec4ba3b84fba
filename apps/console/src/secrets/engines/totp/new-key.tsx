import { Link } from '@tanstack/react-router';
import { FileInput, QrCode as QrCodeShape } from 'lucide-react';
import { useState } from 'react';
import { SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { QrCode } from '../../../design/qr-code';
import { SecretValue } from '../../../design/secret-value';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useList } from '../../reads';
import { NewByWay } from '../new-by-way';
import { sameBy } from '../record-page';

const ways = [
  {
    part: 'generate',
    icon: QrCodeShape,
    title: 'Generate a key',
    text: 'For an authenticator app: shows a QR code once, and checks the codes of the app here.',
    fields: 'generate=true issuer=Example account_name=ana@example.com',
  },
  {
    part: 'import',
    icon: FileInput,
    title: 'Import a key',
    text: 'From another service, by its otpauth URL or its key: this service then makes the codes.',
    fields: 'url=otpauth://totp/…',
  },
] as const;

/** Generates or imports a key: first choose which, then fill in the form. */
export function NewKey({ mount }: { readonly mount: string }) {
  return (
    <NewByWay
      mount={mount}
      tab="keys"
      title="Create key"
      label="Ways to a key"
      ways={ways}
      same={(way = ways[0]) => sameBy('write', `${mount}keys/ana`, way.fields)}
    >
      {({ part }) => <KeyForm mount={mount} isGenerated={part === 'generate'} />}
    </NewByWay>
  );
}

const empty = {
  name: '',
  issuer: '',
  account_name: '',
  url: '',
  key: '',
  algorithm: 'SHA1',
  digits: '6',
  period: '30',
  skew: '1',
  key_size: '20',
};

function KeyForm({ mount, isGenerated }: { readonly mount: string; readonly isGenerated: boolean }) {
  const [form, setForm] = useState(empty);
  const set = (name: keyof typeof empty) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const name = form.name.trim();
  const names = useList(`${encodedPath(mount)}keys`);
  const isTaken = (names.data ?? []).includes(name);
  const change = useChange<{ readonly data: { readonly url: string } } | undefined>(() =>
    setForm((before) => ({ ...before, url: '', key: '' })),
  );
  const isByUrl = !isGenerated && form.url.trim() !== '';
  const settings = isByUrl
    ? {}
    : {
        issuer: form.issuer,
        account_name: form.account_name,
        algorithm: form.algorithm,
        digits: Number(form.digits),
        period: form.period,
        skew: Number(form.skew),
      };
  const key = isGenerated
    ? { generate: true, key_size: Number(form.key_size), qr_size: 0 }
    : isByUrl
      ? { url: form.url.trim() }
      : { key: form.key.replace(/\s+/g, '') };
  const send = () => {
    if (isTaken && !change.isSuccess) return;
    change.mutate({
      method: 'POST',
      path: `${encodedPath(mount)}keys/${encodeURIComponent(name)}`,
      body: { ...key, ...settings },
    });
  };
  if (change.isSuccess) return <Made mount={mount} name={name} url={change.data?.data.url} />;
  return (
    <Form action={isGenerated ? 'Generate key' : 'Import key'} change={change} onSend={send}>
      <TextField
        label="Name"
        required
        autoFocus
        value={form.name}
        onChange={set('name')}
        placeholder="ana"
        error={isTaken ? `There is already a key called ${name}.` : undefined}
      />
      {isGenerated ? null : (
        <>
          <TextField
            label="URL"
            masked
            value={form.url}
            onChange={set('url')}
            placeholder="otpauth://totp/…"
            hint="An otpauth URL holds the key and its settings."
          />
          {isByUrl ? null : (
            <TextField
              label="Key"
              masked
              required
              value={form.key}
              onChange={set('key')}
              hint="Instead of a URL: the key in base32, as services show it next to their QR code."
            />
          )}
        </>
      )}
      {isByUrl ? null : (
        <>
          <TextField
            label="Issuer"
            required={isGenerated}
            value={form.issuer}
            onChange={set('issuer')}
            placeholder="Example"
          />
          <TextField
            label="Account name"
            required={isGenerated}
            value={form.account_name}
            onChange={set('account_name')}
            placeholder="ana@example.com"
          />
          <details className="advanced">
            <summary>Advanced</summary>
            <div className="stack">
              <SelectField
                label="Algorithm"
                value={form.algorithm}
                onChange={set('algorithm')}
                options={['SHA1', 'SHA256', 'SHA512']}
                hint="Many apps only know SHA1."
              />
              <SelectField label="Digits" value={form.digits} onChange={set('digits')} options={['6', '8']} />
              <TextField
                label="Period"
                value={form.period}
                onChange={set('period')}
                hint="Seconds that a code is shown."
              />
              <SelectField
                label="Skew"
                value={form.skew}
                onChange={set('skew')}
                options={[
                  { value: '1', label: 'Also the code before and after' },
                  { value: '0', label: 'Only the current code' },
                ]}
              />
              {isGenerated ? (
                <TextField
                  label="Key size"
                  type="number"
                  value={form.key_size}
                  onChange={set('key_size')}
                  hint="In bytes."
                />
              ) : null}
            </div>
          </details>
        </>
      )}
    </Form>
  );
}

/** A key that was just stored; a generated one is shown only once. */
function Made({
  mount,
  name,
  url,
}: {
  readonly mount: string;
  readonly name: string;
  readonly url: string | undefined;
}) {
  return (
    <section className="stack" role="status" aria-label="Key">
      {url === undefined ? (
        <Notice tone="green">The key {name} was imported.</Notice>
      ) : (
        <>
          <Notice tone="amber" alert>
            Scan the QR code with an authenticator app now: it is not shown again.
          </Notice>
          <QrCode text={url} label={`QR code of ${name}`} />
          <SecretValue name="otpauth URL" value={url} />
        </>
      )}
      <div>
        <Link className="button primary" {...mountPage({ mount, tab: 'keys', name })}>
          Open key
        </Link>
      </div>
    </section>
  );
}
