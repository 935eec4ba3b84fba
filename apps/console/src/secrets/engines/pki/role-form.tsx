import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { PickerField } from '../../../design/picker';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useList } from '../../reads';
import { NewRecord, sameBy } from '../record-page';
import { secondsOf, TtlField } from '../ttl-field';
import { useIssuers } from './issuers-of';
import { allowedBy, leafTtls, newRole, type PkiRole, roleKeys } from './role';

type Flag = { [K in keyof PkiRole]: PkiRole[K] extends boolean ? K : never }[keyof PkiRole];
type FlagRow = readonly [flag: Flag, label: string];

const nameFlags: readonly FlagRow[] = [
  ['allow_subdomains', 'Subdomains, such as shop.example.com'],
  ['allow_bare_domains', 'The domains themselves'],
  ['allow_wildcard_certificates', 'Wildcards, such as *.example.com'],
  ['allow_glob_domains', 'Patterns: web-*.example.com as a domain matches web-1.example.com'],
  ['allow_localhost', 'localhost'],
  ['allow_ip_sans', 'IP addresses'],
  ['allow_any_name', 'Any name: nothing is checked'],
];
const useFlags: readonly FlagRow[] = [
  ['server_flag', 'Servers (TLS)'],
  ['client_flag', 'Clients (mutual TLS)'],
  ['code_signing_flag', 'Code signing'],
  ['email_protection_flag', 'Email (S/MIME)'],
];
const advancedFlags: readonly FlagRow[] = [
  ['require_cn', 'Require a common name'],
  ['enforce_hostnames', 'Names must be hostnames'],
  ['no_store', 'Do not store certificates: they are not listed and cannot be revoked'],
  ['generate_lease', 'Give each certificate a lease; it is revoked when the lease ends'],
];

/** A page that creates a role. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <NewRecord
      mount={mount}
      tab="roles"
      title="Create role"
      same={sameBy('write', `${mount}roles/web`, 'allowed_domains=example.com allow_subdomains=true')}
    >
      <RoleForm mount={mount} name={undefined} stored={newRole} />
    </NewRecord>
  );
}

/** The settings of a role, or of a new role if no name is given. Only what was changed is written. */
export function RoleForm({
  mount,
  name,
  stored,
}: {
  readonly mount: string;
  readonly name: string | undefined;
  readonly stored: PkiRole;
}) {
  const [role, setRole] = useState(stored);
  const [newName, setNewName] = useState('');
  const names = useList(`${encodedPath(mount)}roles`);
  const isTaken = name === undefined && (names.data ?? []).includes(newName.trim());
  const { rows } = useIssuers(mount);
  const navigate = useNavigate();
  const to = name ?? newName.trim();
  const path = `${mount}roles/${to}`;
  const may = useMay(name === undefined ? [] : [path]);
  const change = useChange(() => {
    if (name === undefined) void navigate(mountPage({ mount, tab: 'roles', name: to }));
  });
  const set = (part: Partial<PkiRole>) => {
    if (!change.isIdle) change.reset();
    setRole((before) => ({ ...before, ...part }));
  };
  const checks = (rows: readonly FlagRow[]) =>
    rows.map(([flag, label]) => (
      <CheckField key={flag} label={label} checked={role[flag]} onChange={(on) => set({ [flag]: on })} />
    ));
  const wrongTtl =
    role.max_ttl > 0 && role.ttl > role.max_ttl ? 'This is longer than the maximum TTL of the role.' : undefined;
  const send = () => {
    if (isTaken || wrongTtl !== undefined) return;
    const changed = Object.entries(role).filter(([field, value]) => value !== stored[field as keyof PkiRole]);
    change.mutate({
      method: name === undefined ? 'POST' : 'PATCH',
      path: `${encodedPath(mount)}roles/${encodeURIComponent(to)}`,
      body: name === undefined ? role : Object.fromEntries(changed),
    });
  };
  const ttl = (field: 'ttl' | 'max_ttl', label: string, hint: string, error?: string) => (
    <TtlField
      label={label}
      choices={[['0', 'Mount default'], ...leafTtls]}
      value={String(role[field])}
      onChange={(text) => set({ [field]: secondsOf(text) ?? text })}
      hint={hint}
      error={error}
    />
  );
  const issuers = [...new Set(['default', role.issuer_ref, ...rows.map(({ issuer_name, id }) => issuer_name || id)])];
  const key = `${role.key_type} ${role.key_bits}`;
  const keys: readonly (string | { readonly value: string; readonly label: string })[] = roleKeys.some(
    ({ value }) => value === key,
  )
    ? roleKeys
    : [...roleKeys, key];
  return (
    <Form
      action={name === undefined ? 'Create role' : 'Save'}
      change={change}
      {...(name === undefined ? {} : may({ path, capabilities: ['patch'] }))}
      onSend={send}
    >
      {name === undefined ? (
        <TextField
          label="Name"
          required
          autoFocus
          value={newName}
          onChange={setNewName}
          placeholder="web"
          error={isTaken ? `There is already a role called ${newName.trim()}.` : undefined}
        />
      ) : null}
      <PickerField
        label="Allowed domains"
        options={[]}
        chosen={role.allowed_domains}
        onChange={(allowed_domains) => set({ allowed_domains })}
        free
        placeholder="example.com"
        hint="Type a domain and press Enter. The rules below say which names around it are allowed."
      />
      <fieldset className="stack-tight">
        <legend>Allowed names</legend>
        {checks(nameFlags)}
        <p className="small second">This allows {allowedBy(role)}.</p>
      </fieldset>
      {ttl('max_ttl', 'Maximum TTL', 'No certificate of this role is valid for longer.')}
      {ttl('ttl', 'Default TTL', 'Used if a request names no TTL.', wrongTtl)}
      <SelectField
        label="Key type"
        value={key}
        onChange={(chosen) => {
          const [key_type = '', bits] = chosen.split(' ');
          set({ key_type, key_bits: Number(bits) });
        }}
        options={keys}
        hint="The type of new keys, and the only one accepted in requests (CSR)."
      />
      <fieldset className="stack-tight">
        <legend>Certificates are for</legend>
        {checks(useFlags)}
      </fieldset>
      <details className="advanced">
        <summary>Advanced</summary>
        <div className="stack">
          <SelectField
            label="Issuer"
            value={role.issuer_ref}
            onChange={(issuer_ref) => set({ issuer_ref })}
            options={issuers}
          />
          <PickerField
            label="Organization"
            options={[]}
            chosen={role.organization}
            onChange={(organization) => set({ organization })}
            free
            placeholder="Example Ltd"
            hint="In the subject of every certificate."
          />
          {checks(advancedFlags)}
        </div>
      </details>
      {change.isSuccess && name !== undefined ? <Notice tone="green">Saved.</Notice> : null}
    </Form>
  );
}
