import { Link } from '@tanstack/react-router';
import {
  Cloud,
  Container,
  Database,
  FileBadge,
  Fingerprint,
  KeyRound,
  LockKeyhole,
  type LucideIcon,
  Network,
  Package,
  Terminal,
  UserRound,
  Vault,
} from 'lucide-react';
import { usualNames } from '../mounts';
import { enablePage } from '../pages';

/**
 * Name and purpose of each type. If a type is both a secrets engine and an auth method, the secrets engine comes first,
 * with the prefix `secret`.
 */
const describedTypes: ReadonlyMap<string, readonly [icon: LucideIcon, title: string, text: string]> = new Map([
  ['kv', [Vault, 'Key/value', 'Stores secrets of teams and programs, with versions.']],
  ['pki', [FileBadge, 'PKI certificates', 'Issues X.509 certificates from your own CA.']],
  ['transit', [LockKeyhole, 'Transit', 'Encrypts, signs and verifies data with keys that never leave the service.']],
  ['ssh', [Terminal, 'SSH', 'Signs SSH keys, or gives one-time passwords.']],
  [
    'database',
    [Database, 'Databases', 'Users of PostgreSQL, MySQL, MongoDB and others, on demand or with rotated passwords.'],
  ],
  ['totp', [KeyRound, 'TOTP', 'Generates and checks one-time codes.']],
  ['secret aws', [Cloud, 'AWS', 'Access keys and sessions, on demand.']],
  ['aws', [Cloud, 'AWS', 'Machines and people log in with their AWS identity.']],
  ['azure', [Cloud, 'Azure', 'Logins of managed identities.']],
  ['nomad', [Container, 'Nomad', 'Nomad tokens that are revoked when their lease ends.']],
  ['userpass', [UserRound, 'Username & password', 'People log in with a username and a password stored here.']],
  ['approle', [Fingerprint, 'AppRole', 'Programs log in with a role ID and a secret ID.']],
  ['ldap', [Network, 'LDAP', 'People log in with their directory account.']],
  ['oidc', [UserRound, 'OIDC', 'People sign in at an OpenID Connect provider.']],
  ['jwt', [FileBadge, 'JWT', 'Programs log in with a signed token, such as that of a pipeline.']],
  ['secret kubernetes', [Container, 'Kubernetes', 'Tokens of service accounts, on demand.']],
  ['kubernetes', [Container, 'Kubernetes', 'Pods log in with their service account.']],
  ['cert', [FileBadge, 'TLS certificates', 'Programs log in with a client certificate.']],
  ['github', [UserRound, 'GitHub', 'People log in with a GitHub token.']],
]);

/** Selects the type to enable. */
export function TypeChoice({ kind, types }: { readonly kind: 'secret' | 'auth'; readonly types: readonly string[] }) {
  const order = [...describedTypes.keys()];
  const nameOf = (type: string) => (describedTypes.has(`${kind} ${type}`) ? `${kind} ${type}` : type);
  const place = (type: string) => (describedTypes.has(nameOf(type)) ? order.indexOf(nameOf(type)) : order.length);
  return (
    <ul className="choices" aria-label="Type">
      {types
        .filter((type) => !types.includes(usualNames.get(type) ?? ''))
        .toSorted((one, other) => place(one) - place(other))
        .map((type) => {
          const [Shape, title, text] = describedTypes.get(nameOf(type)) ?? [Package, type, ''];
          return (
            <li key={type}>
              <Shape size={20} aria-hidden="true" />
              <Link className="strong" {...enablePage(kind, type)}>
                {title}
              </Link>
              <span className="second small">{text}</span>
            </li>
          );
        })}
    </ul>
  );
}
