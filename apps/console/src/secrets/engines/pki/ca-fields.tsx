import { useState } from 'react';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { SelectField, TextField } from '../../../design/field';
import { Notice } from '../../../design/notice';
import { useMay } from '../../may';
import { encodedPath, useChange, useRead } from '../../reads';
import { secondsOf, spanOf, type TtlChoice, TtlField } from '../ttl-field';

/** The values that the user enters for a CA. */
export interface AskedCa {
  readonly common_name: string;
  readonly organization: string;
  readonly issuer_name: string;
  readonly ttl: string;
  /** The type and size of the key. */
  readonly key: string;
}

const caKeys = [
  { value: 'ec 256', label: 'EC P-256', hint: 'Small and fast, and known to every client: the usual choice.' },
  { value: 'ec 384', label: 'EC P-384', hint: 'For rules that require more than 128 bits of security.' },
  { value: 'rsa 2048', label: 'RSA 2048', hint: 'For clients that support only RSA.' },
  { value: 'rsa 3072', label: 'RSA 3072', hint: 'RSA as strong as EC P-256.' },
  { value: 'rsa 4096', label: 'RSA 4096', hint: 'RSA for CAs that are kept for decades; signing is slow.' },
  { value: 'ed25519 0', label: 'Ed25519', hint: 'Modern; browsers do not accept it yet.' },
] as const;

const year = 8760;
const caTtls: readonly TtlChoice[] = [1, 2, 3, 5, 10, 20].map((years) => [
  `${years * year}h`,
  years === 1 ? '1 year' : `${years} years`,
]);

export const newCa: AskedCa = {
  common_name: '',
  organization: '',
  issuer_name: '',
  ttl: `${10 * year}h`,
  key: 'ec 256',
};

/** The fields of a request for a CA. */
export const subjectOf = ({ common_name, organization }: AskedCa) => ({
  common_name,
  ...(organization.trim() === '' ? {} : { organization: [organization.trim()] }),
});
export function keyOf({ key }: AskedCa) {
  const [key_type, bits] = key.split(' ');
  return { key_type, key_bits: Number(bits) };
}

/** The subject and the key of a CA. */
export function CaFields({
  authority,
  onChange,
  example,
}: {
  readonly authority: AskedCa;
  /** Selects the examples in the form: for a root CA or for an issuing CA. */
  readonly example: 'Root' | 'Issuing';
  readonly onChange: (part: Partial<AskedCa>) => void;
}) {
  return (
    <>
      <TextField
        label="Common name"
        required
        autoFocus
        value={authority.common_name}
        onChange={(common_name) => onChange({ common_name })}
        placeholder={`Example ${example} CA`}
        hint="The name that people see when they look at a certificate."
      />
      <TextField
        label="Organization (optional)"
        value={authority.organization}
        onChange={(organization) => onChange({ organization })}
        placeholder="Example Ltd"
      />
      <TextField
        label="Issuer name (optional)"
        value={authority.issuer_name}
        onChange={(issuer_name) => onChange({ issuer_name })}
        placeholder={`${example.toLowerCase()}-1`}
        hint="A short name for roles and paths: letters, digits, hyphens, dots."
      />
      <SelectField
        label="Key type"
        value={authority.key}
        onChange={(key) => onChange({ key })}
        options={caKeys}
        hint={caKeys.find(({ value }) => value === authority.key)?.hint}
      />
    </>
  );
}

/** The lifetime of a CA, and how the signing mount limits it. */
export function CaTtlField({
  mount,
  ttl,
  onChange,
}: {
  /** The mount that signs the certificate of the CA. */
  readonly mount: string;
  readonly ttl: string;
  readonly onChange: (ttl: string) => void;
}) {
  const path = `sys/mounts/${mount}tune`;
  const tune = useRead<{ readonly max_lease_ttl: number }>(encodedPath(path));
  const may = useMay([path]);
  const change = useChange();
  const [raised, setRaised] = useState<string>();
  const seconds = secondsOf(ttl);
  const most = tune.data?.max_lease_ttl;
  const isCapped = seconds !== undefined && most !== undefined && seconds > most;
  return (
    <>
      <TtlField
        label="TTL"
        choices={caTtls}
        value={ttl}
        onChange={onChange}
        {...(raised !== undefined && !isCapped ? { hint: `The maximum lease TTL of ${mount} is now ${raised}.` } : {})}
      />
      {isCapped ? (
        <Notice tone="amber" alert>
          <span>
            The CA would expire after {spanOf(most)}: the maximum lease TTL of <code>{mount}</code> is not longer.
          </span>
          <span>
            <Button
              small
              busy={change.isPending}
              {...may({ path, capabilities: ['update'] })}
              onClick={() =>
                change.mutate(
                  { method: 'POST', path: encodedPath(path), body: { max_lease_ttl: ttl } },
                  { onSuccess: () => setRaised(spanOf(seconds)) },
                )
              }
            >
              Raise it to {spanOf(seconds)}
            </Button>
          </span>
        </Notice>
      ) : null}
      <ErrorNotice error={change.error} />
    </>
  );
}
