/** Objects that an administrator may add to a generated user by hand, by the name of their list. */
export type Extras = Map<string, Set<string>>;

interface Kind {
  readonly list: string;
  readonly listed: string;
  readonly remove: string;
  readonly id: string;
  readonly called: string;
}

const kinds: readonly Kind[] = [
  {
    list: 'MFADevices',
    listed: 'ListMFADevices',
    remove: 'DeactivateMFADevice',
    id: 'SerialNumber',
    called: 'MFA devices',
  },
  {
    list: 'Certificates',
    listed: 'ListSigningCertificates',
    remove: 'DeleteSigningCertificate',
    id: 'CertificateId',
    called: 'signing certificates',
  },
  {
    list: 'SSHPublicKeys',
    listed: 'ListSSHPublicKeys',
    remove: 'DeleteSSHPublicKey',
    id: 'SSHPublicKeyId',
    called: 'SSH public keys',
  },
  {
    list: 'ServiceSpecificCredentials',
    listed: 'ListServiceSpecificCredentials',
    remove: 'DeleteServiceSpecificCredential',
    id: 'ServiceSpecificCredentialId',
    called: 'service specific credentials',
  },
  { list: 'LoginProfile', listed: '', remove: 'DeleteLoginProfile', id: '', called: 'login profile' },
];

/** True for calls about objects that were added by hand. */
export const isExtra = (action: string): boolean =>
  kinds.some(({ listed, remove }) => [listed, remove].includes(action));

/** Answers a call about an added object; `absent` if the object does not exist. */
export function runExtra(action: string, form: Readonly<Record<string, string>>, extras: Extras): string | 'absent' {
  const kind = kinds.find(({ listed, remove }) => [listed, remove].includes(action))!;
  const there = extras.get(kind.list) ?? new Set();
  if (action === kind.remove) return there.delete(form[kind.id] ?? 'console') ? '' : 'absent';
  const members = [...there].map(
    (id) => `<member><UserName>${form.UserName}</UserName><${kind.id}>${id}</${kind.id}></member>`,
  );
  return `<${kind.list}>${members.join('')}</${kind.list}><IsTruncated>false</IsTruncated>`;
}

/** The objects that block the deletion of a user. */
export const blockedBy = (extras: Extras): string | undefined =>
  kinds.find(({ list }) => (extras.get(list)?.size ?? 0) > 0)?.called;
