import { useQuery } from '@tanstack/react-query';
import { PickerField } from '../../design/picker';
import { useSession } from '../../shell/session';
import { listed } from '../reads';

export type IdentityKind = 'entity' | 'group';

interface ListedIdentity {
  readonly name: string;
  readonly aliases?: readonly { readonly name: string; readonly mount_path?: string }[];
}

/** All entities or groups of the namespace, with their names. */
export function useIdentities(kind: IdentityKind) {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['v1', 'identity', kind],
    queryFn: () => listed<ListedIdentity>(transport, `identity/${kind}/id`),
  });
}

/** The name of the entity, and the names of its logins. */
export const nameAndLogins = (info: ListedIdentity | undefined, id: string) => ({
  name: info?.name ?? id,
  logins: (info?.aliases ?? []).map(loginOf).join(', '),
});

/** The name of a login with its auth method, as `userpass/ada`. */
const loginOf = ({ name, mount_path: at = '' }: { readonly name: string; readonly mount_path?: string }): string =>
  `${at.replace(/^auth\//, '')}${name}`;

export interface IdentityPickerProps {
  readonly kind: IdentityKind;
  readonly label: string;
  readonly hint?: string;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
}

/** Selects entities or groups by their names or logins. */
export function IdentityPicker({ kind, ...field }: IdentityPickerProps) {
  return (
    <PickerField
      {...field}
      options={useOptions(kind)}
      placeholder={kind === 'entity' ? 'Choose entities' : 'Choose groups'}
    />
  );
}

/** Selects one person, who can also be typed: by entity name, entity id, or login such as `userpass/ada`. */
export function PersonField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <PickerField
      label="Person"
      free
      options={useOptions('entity')}
      chosen={value === '' ? [] : [value]}
      onChange={(chosen) => onChange(chosen.at(-1) ?? '')}
      placeholder="Name, or login as userpass/ada"
    />
  );
}

function useOptions(kind: IdentityKind) {
  const { data } = useIdentities(kind);
  return Object.entries(data?.key_info ?? {}).map(([value, info]) => {
    const { name, logins } = nameAndLogins(info, value);
    return { value, label: logins === '' ? name : `${name} (${logins})` };
  });
}
