import { type ReactNode, useState } from 'react';
import { ApiError } from '../../../api/api-error';
import { SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { PickerField } from '../../../design/picker';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';
import { spanOf, type TtlChoice, TtlField } from '../ttl-field';
import { type Issued, IssuedCertificate } from './issued';
import { PemField } from './pem-field';
import { leafTtls, type PkiRole, roleKeys } from './role';

interface RoleProps {
  readonly mount: string;
  readonly name: string;
  /** Undefined if it may not be read. */
  readonly role: PkiRole | undefined;
}
interface IssueAnswer {
  readonly data: Issued;
  readonly warnings?: readonly string[] | null;
}

/** The choices that a role leaves for a lifetime. */
function ttlChoices(role: PkiRole | undefined): readonly TtlChoice[] {
  const usual = role?.ttl ? `Default (${spanOf(role.ttl)})` : 'Default';
  const most = role?.max_ttl || Number.POSITIVE_INFINITY;
  return [['', usual], ...leafTtls.filter(([seconds]) => Number(seconds) <= most)];
}

const common = (given: { readonly ttl: string; readonly alt: readonly string[]; readonly ips: readonly string[] }) => ({
  ...(given.ttl === '' ? {} : { ttl: given.ttl }),
  ...(given.alt.length === 0 ? {} : { alt_names: given.alt.join(',') }),
  ...(given.ips.length === 0 ? {} : { ip_sans: given.ips.join(',') }),
});

/** The field that a refusal is about. */
const fieldOf = (message: string): 'name' | 'ttl' | 'csr' | undefined =>
  /\bttl\b|not ?after/i.test(message)
    ? 'ttl'
    : /csr/i.test(message)
      ? 'csr'
      : /name|subject|san\b/i.test(message)
        ? 'name'
        : undefined;

function useIssue(path: string) {
  const change = useChange<IssueAnswer>();
  const may = useMay([path]);
  const { error } = change;
  const field = error instanceof ApiError && error.status === 400 ? fieldOf(error.message) : undefined;
  const wrong: { readonly name?: string; readonly ttl?: string; readonly csr?: string } =
    field === undefined ? {} : { [field]: error?.message };
  return {
    answer: change.data,
    wrong,
    again: () => change.reset(),
    form: {
      ...may({ path, capabilities: ['update'] }),
      change: { isPending: change.isPending, error: field === undefined ? error : null },
    },
    send: (body: object) => change.mutate({ method: 'POST', path: encodedPath(path), body }),
  };
}

/** That the default TTL is cut to the maximum of the role is no news for someone who asked for none. */
const isUsual = (warning: string, ttl: string) => ttl === '' && /is longer than permitted maxTTL/.test(warning);

function Warnings({ of, ttl }: { readonly of: IssueAnswer; readonly ttl: string }): ReactNode {
  const warnings = (of.warnings ?? []).filter((warning) => !isUsual(warning, ttl));
  return warnings.length === 0 ? null : (
    <Notice tone="amber">
      {warnings.map((text) => (
        <span key={text}>{text}</span>
      ))}
    </Notice>
  );
}

const nothing = { name: '', alt: [] as readonly string[], ips: [] as readonly string[], ttl: '', key: 'ec 256' };

/** Creates a key and a certificate. */
export function IssueForm({ mount, name: role, role: rules }: RoleProps) {
  const { answer, wrong, again, form, send } = useIssue(`${mount}issue/${role}`);
  const [given, setGiven] = useState(nothing);
  const set = (part: Partial<typeof nothing>) => setGiven((before) => ({ ...before, ...part }));
  const [key_type, bits] = given.key.split(' ');
  const body = {
    common_name: given.name.trim(),
    ...common(given),
    ...(rules?.key_type === 'any' ? { key_type, key_bits: Number(bits) } : {}),
    private_key_format: 'pkcs8',
  };
  if (answer !== undefined) {
    return (
      <div className="stack">
        <Warnings of={answer} ttl={given.ttl} />
        <IssuedCertificate mount={mount} of={answer.data} onAgain={again} />
      </div>
    );
  }
  return (
    <Form action="Issue certificate" {...form} onSend={() => send(body)}>
      <TextField
        label="Common name"
        required={rules?.require_cn !== false}
        autoFocus
        value={given.name}
        onChange={(name) => set({ name })}
        placeholder={rules?.allowed_domains[0] === undefined ? 'shop.example.com' : `shop.${rules.allowed_domains[0]}`}
        error={wrong.name}
      />
      <PickerField
        label="Other names (optional)"
        options={[]}
        chosen={given.alt}
        onChange={(alt) => set({ alt })}
        free
        hint="Hosts and mail addresses; press Enter after each."
      />
      {rules?.allow_ip_sans === false ? null : (
        <PickerField
          label="IP addresses (optional)"
          options={[]}
          chosen={given.ips}
          onChange={(ips) => set({ ips })}
          free
        />
      )}
      <TtlField
        label="TTL"
        choices={ttlChoices(rules)}
        value={given.ttl}
        onChange={(ttl) => set({ ttl })}
        error={wrong.ttl}
        {...(rules?.max_ttl ? { hint: `At most ${spanOf(rules.max_ttl)}.` } : {})}
      />
      {rules?.key_type === 'any' ? (
        <SelectField
          label="Key type"
          value={given.key}
          onChange={(key) => set({ key })}
          options={roleKeys.filter(({ value }) => !value.startsWith('any'))}
        />
      ) : null}
    </Form>
  );
}

/** Signs the request of someone who has a key. */
export function SignForm({ mount, name: role, role: rules }: RoleProps) {
  const { answer, wrong, again, form, send } = useIssue(`${mount}sign/${role}`);
  const [csr, setCsr] = useState('');
  const [ttl, setTtl] = useState('');
  if (answer !== undefined) {
    return (
      <div className="stack">
        <Warnings of={answer} ttl={ttl} />
        <IssuedCertificate mount={mount} of={answer.data} onAgain={again} />
      </div>
    );
  }
  return (
    <Form action="Sign" {...form} onSend={() => send({ csr, ...(ttl === '' ? {} : { ttl }) })}>
      <PemField
        label="Certificate signing request (CSR)"
        value={csr}
        onChange={setCsr}
        placeholder="-----BEGIN CERTIFICATE REQUEST-----"
        hint="The names are those of the request, as far as the role allows them."
        error={wrong.csr ?? wrong.name}
      />
      <TtlField label="TTL" choices={ttlChoices(rules)} value={ttl} onChange={setTtl} error={wrong.ttl} />
    </Form>
  );
}
