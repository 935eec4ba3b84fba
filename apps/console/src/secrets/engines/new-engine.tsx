import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { enablePage, mountPage, page, useAddress } from '../pages';
import { encodedPath, useChange, useRead } from '../reads';
import { TypeChoice } from './type-choice';

interface Catalog {
  readonly auth: readonly string[];
  readonly secret: readonly string[];
}
// Mounted in every namespace, and cannot be enabled again.
const builtIn = new Set(['cubbyhole', 'system', 'identity', 'token', 'ns_cubbyhole', 'ns_system', 'ns_identity']);

/** Enables a secrets engine. */
export const NewEngine = () => <Enable kind="secret" />;

/** Enables an auth method. */
export const NewMethod = () => <Enable kind="auth" />;

function Enable({ kind }: { readonly kind: 'secret' | 'auth' }) {
  const { type = '' } = useAddress('/engines/new');
  const catalog = useRead<Catalog>('sys/plugins/catalog');
  const types = (catalog.data?.[kind] ?? []).filter((type) => !builtIn.has(type));
  const [form, setForm] = useState({ path: '', description: '', version: '2', default: '', max: '' });
  const navigate = useNavigate();
  const path = form.path.replace(/^\/+|\/+$/g, '') || type;
  const change = useChange(
    () =>
      void (type === 'kv'
        ? navigate(page('/secrets', { at: `${path}/` }))
        : navigate(mountPage({ mount: `${kind === 'auth' ? 'auth/' : ''}${path}/` }))),
  );
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const send = () => {
    const config = {
      ...(form.default === '' ? {} : { default_lease_ttl: form.default }),
      ...(form.max === '' ? {} : { max_lease_ttl: form.max }),
    };
    const options = type === 'kv' ? { options: { version: form.version } } : {};
    change.mutate({
      method: 'POST',
      path: `sys/${kind === 'auth' ? 'auth' : 'mounts'}/${encodedPath(path)}`,
      body: { type, description: form.description, config, ...options },
    });
  };
  const what = kind === 'auth' ? 'auth method' : 'engine';
  return (
    <div className="stack">
      <PageHead
        title={`Enable ${kind === 'auth' ? 'an auth method' : 'a secrets engine'}`}
        crumbs={[
          kind === 'auth' ? { label: 'Auth methods', to: '/access' } : { label: 'Secrets engines', to: '/engines' },
        ]}
      />
      <ErrorNotice error={catalog.error} />
      {catalog.data === undefined ? (
        <Skeleton rows={4} />
      ) : type === '' ? (
        <TypeChoice kind={kind} types={types} />
      ) : (
        <Form action={`Enable ${what}`} change={change} onSend={send}>
          <p>
            <span className="strong">{type}</span> · <Link {...enablePage(kind)}>Choose another type</Link>
          </p>
          <TextField
            label="Path"
            value={form.path}
            onChange={set('path')}
            placeholder={type}
            hint="Requests to this engine begin with this path."
          />
          {type === 'kv' ? (
            <SelectField
              label="Version"
              value={form.version}
              onChange={set('version')}
              options={[
                { value: '2', label: '2: keeps versions of each secret' },
                { value: '1', label: '1: keeps only the newest' },
              ]}
            />
          ) : null}
          <TextField label="Description" value={form.description} onChange={set('description')} />
          <TextField
            label="Default lease TTL"
            value={form.default}
            onChange={set('default')}
            placeholder="server default"
            hint="For its leases and tokens, such as 30m or 12h."
          />
          <TextField label="Maximum lease TTL" value={form.max} onChange={set('max')} placeholder="server default" />
        </Form>
      )}
      <SameBy
        api={`POST /v1/sys/${kind === 'auth' ? 'auth' : 'mounts'}/${path}`}
        command={`keystead ${kind === 'auth' ? 'auth' : 'secrets'} enable ${path === type ? '' : `-path=${path} `}${type}`}
      />
    </div>
  );
}
