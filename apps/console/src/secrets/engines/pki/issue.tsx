import { type ReactNode, useState } from 'react';
import { ApiError } from '../../../api/api-error';
import { Button } from '../../../design/button';
import { SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { PickerField } from '../../../design/picker';
import { Time } from '../../../design/time';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';
import { PastedField } from '../pasted-field';
import { spanOf, type TtlChoice, TtlField } from '../ttl-field';
import { type Issued, IssuedCertificate } from './issued';
import { leafTtls, type PkiRole, roleKeys } from './role';

interface RoleProps {
  readonly mount: string;
  readonly name: string;
  /** The role; undefined if the session may not read it. */
  readonly role: PkiRole | undefined;
}
interface IssueAnswer {
  readonly data: Issued;
  readonly warnings?: readonly string[] | null;
}

/** The lifetimes that the user can choose from, limited by the role. */
function ttlChoices(role: PkiRole | undefined): readonly TtlChoice[] {
  const usual = role?.ttl ? `Default (${spanOf(role.ttl)})` : 'Default';
  const most = role?.max_ttl || Number.POSITIVE_INFINITY;
  return [['', usual], ...leafTtls.filter(([seconds]) => Number(seconds) <= most)];
}

const common = (options: {
  readonly ttl: string;
  readonly alt: readonly string[];
  readonly ips: readonly string[];
}) => ({
  ...(options.ttl === '' ? {} : { ttl: options.ttl }),
  ...(options.alt.length === 0 ? {} : { alt_names: options.alt.join(',') }),
  ...(options.ips.length === 0 ? {} : { ip_sans: options.ips.join(',') }),
});

/** The form field that an error message is about. */
const fieldOf = (message: string): 'name' | 'ttl' | 'csr' | undefined =>
  /\bttl\b|not ?after/i.test(message)
    ? 'ttl'
    : /csr/i.test(message)
      ? 'csr'
      : /name|subject|san\b/i.test(message)
        ? 'name'
        : undefined;

/** What a dry run of a role returns. */
interface DryRunAnswer {
  readonly data: {
    readonly issuer_id: string;
    readonly subject: string;
    readonly dns_names: readonly string[];
    readonly email_addresses: readonly string[];
    readonly ip_addresses: readonly string[];
    readonly uris: readonly string[];
    readonly not_after: string;
  };
  readonly warnings?: readonly string[] | null;
}

/** Issues or signs with a role, or only checks whether the role allows it. */
function useIssue(mount: string, role: string, use: 'issue' | 'sign', body: object) {
  const [path, dryPath] = [`${mount}${use}/${role}`, `${mount}roles/${role}/dry-run`];
  const change = useChange<IssueAnswer>();
  const check = useChange<DryRunAnswer>();
  const may = useMay([path, dryPath]);
  const error = change.error ?? check.error;
  const field = error instanceof ApiError && error.status === 400 ? fieldOf(error.message) : undefined;
  const wrong: { readonly name?: string; readonly ttl?: string; readonly csr?: string } =
    field === undefined ? {} : { [field]: error?.message };
  const forget = () => {
    if (!change.isIdle) change.reset();
    if (!check.isIdle) check.reset();
  };
  return {
    answer: change.data,
    checked: check.data,
    wrong,
    forget,
    form: {
      ...may({ path, capabilities: ['update'] }),
      change: { isPending: change.isPending, error: field === undefined ? error : null },
      onSend: () => {
        forget();
        change.mutate({
          method: 'POST',
          path: encodedPath(path),
          body: use === 'issue' ? { ...body, private_key_format: 'pkcs8' } : body,
        });
      },
      extra: (
        <Button
          busy={check.isPending}
          {...may({ path: dryPath, capabilities: ['update'] })}
          onClick={() => {
            forget();
            check.mutate({ method: 'POST', path: encodedPath(dryPath), body });
          }}
        >
          Would it be issued?
        </Button>
      ),
    },
  };
}

function WouldIssue({ of: { data, warnings } }: { readonly of: DryRunAnswer }) {
  const names = [...data.dns_names, ...data.email_addresses, ...data.ip_addresses, ...data.uris];
  return (
    <div role="status">
      <Notice tone="green">
        <span>
          Yes: {data.subject || 'no subject'}
          {names.length === 0 ? '' : `, for ${names.join(', ')}`}. It would expire <Time at={data.not_after} />.
        </span>
        {(warnings ?? []).map((text) => (
          <span key={text}>{text}</span>
        ))}
      </Notice>
    </div>
  );
}

/** Do not warn that the default TTL was cut to the maximum of the role if the user chose no TTL. */
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
  const [fields, setFields] = useState(nothing);
  const [key_type, bits] = fields.key.split(' ');
  const body = {
    common_name: fields.name.trim(),
    ...common(fields),
    ...(rules?.key_type === 'any' ? { key_type, key_bits: Number(bits) } : {}),
  };
  const { answer, checked, wrong, forget, form } = useIssue(mount, role, 'issue', body);
  const set = (part: Partial<typeof nothing>) => {
    forget();
    setFields((before) => ({ ...before, ...part }));
  };
  if (answer !== undefined) {
    return (
      <div className="stack">
        <Warnings of={answer} ttl={fields.ttl} />
        <IssuedCertificate mount={mount} of={answer.data} onAgain={forget} />
      </div>
    );
  }
  return (
    <Form action="Issue certificate" {...form}>
      <TextField
        label="Common name"
        required={rules?.require_cn !== false}
        autoFocus
        value={fields.name}
        onChange={(name) => set({ name })}
        placeholder={rules?.allowed_domains[0] === undefined ? 'shop.example.com' : `shop.${rules.allowed_domains[0]}`}
        error={wrong.name}
      />
      <PickerField
        label="Other names (optional)"
        options={[]}
        chosen={fields.alt}
        onChange={(alt) => set({ alt })}
        free
        hint="Hosts and mail addresses; press Enter after each."
      />
      {rules?.allow_ip_sans === false ? null : (
        <PickerField
          label="IP addresses (optional)"
          options={[]}
          chosen={fields.ips}
          onChange={(ips) => set({ ips })}
          free
        />
      )}
      <TtlField
        label="TTL"
        choices={ttlChoices(rules)}
        value={fields.ttl}
        onChange={(ttl) => set({ ttl })}
        error={wrong.ttl}
        {...(rules?.max_ttl ? { hint: `At most ${spanOf(rules.max_ttl)}.` } : {})}
      />
      {rules?.key_type === 'any' ? (
        <SelectField
          label="Key type"
          value={fields.key}
          onChange={(key) => set({ key })}
          options={roleKeys.filter(({ value }) => !value.startsWith('any'))}
        />
      ) : null}
      {checked === undefined ? null : <WouldIssue of={checked} />}
    </Form>
  );
}

/** Signs a CSR. */
export function SignForm({ mount, name: role, role: rules }: RoleProps) {
  const [csr, setCsr] = useState('');
  const [ttl, setTtl] = useState('');
  const { answer, checked, wrong, forget, form } = useIssue(mount, role, 'sign', {
    csr,
    ...(ttl === '' ? {} : { ttl }),
  });
  if (answer !== undefined) {
    return (
      <div className="stack">
        <Warnings of={answer} ttl={ttl} />
        <IssuedCertificate mount={mount} of={answer.data} onAgain={forget} />
      </div>
    );
  }
  return (
    <Form action="Sign" {...form}>
      <PastedField
        label="Certificate signing request (CSR)"
        value={csr}
        onChange={(text) => {
          forget();
          setCsr(text);
        }}
        placeholder="-----BEGIN CERTIFICATE REQUEST-----"
        hint="The names are those of the request, as far as the role allows them."
        error={wrong.csr ?? wrong.name}
      />
      <TtlField
        label="TTL"
        choices={ttlChoices(rules)}
        value={ttl}
        onChange={(next) => {
          forget();
          setTtl(next);
        }}
        error={wrong.ttl}
      />
      {checked === undefined ? null : <WouldIssue of={checked} />}
    </Form>
  );
}
