import { Link } from '@tanstack/react-router';
import {
  Cloud,
  Container,
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
import { page } from '../pages';

/** What each type is called, and what it is for. */
const known: ReadonlyMap<string, readonly [icon: LucideIcon, title: string, text: string]> = new Map([
  ['kv', [Vault, 'Key/value', 'Stores secrets of teams and programs, with versions.']],
  ['pki', [FileBadge, 'PKI certificates', 'Issues X.509 certificates from your own authority.']],
  ['transit', [LockKeyhole, 'Transit', 'Encrypts, signs and verifies data; the keys never leave.']],
  ['ssh', [Terminal, 'SSH', 'Signs SSH keys, or gives one-time passwords.']],
  ['totp', [KeyRound, 'TOTP', 'Generates and checks one-time codes.']],
  ['aws', [Cloud, 'AWS', 'Access keys for a role, or logins of AWS identities.']],
  ['azure', [Cloud, 'Azure', 'Logins of managed identities.']],
  ['nomad', [Container, 'Nomad', 'Nomad tokens that are revoked when their lease ends.']],
  ['userpass', [UserRound, 'Username & password', 'People log in with a username and a password kept here.']],
  ['approle', [Fingerprint, 'AppRole', 'Programs log in with a role ID and a secret ID.']],
  ['ldap', [Network, 'LDAP', 'People log in with their account of a directory.']],
  ['oidc', [UserRound, 'OIDC', 'People sign in at an OpenID Connect provider.']],
  ['jwt', [FileBadge, 'JWT', 'Programs log in with a signed token, such as that of a pipeline.']],
  ['kubernetes', [Container, 'Kubernetes', 'Pods log in with their service account.']],
  ['cert', [FileBadge, 'TLS certificates', 'Programs log in with a client certificate.']],
  ['github', [UserRound, 'GitHub', 'People log in with a GitHub token.']],
]);

/** Chooses what is enabled. */
export function TypeChoice({ kind, types }: { readonly kind: 'secret' | 'auth'; readonly types: readonly string[] }) {
  const order = [...known.keys()];
  const place = (type: string) => (known.has(type) ? order.indexOf(type) : order.length);
  return (
    <ul className="choices" aria-label="Type">
      {types
        .toSorted((one, other) => place(one) - place(other))
        .map((type) => {
          const [Shape, title, text] = known.get(type) ?? [Package, type, ''];
          return (
            <li key={type}>
              <Shape size={20} aria-hidden="true" />
              <Link className="strong" {...page('/engines/new', { kind, type })}>
                {title}
              </Link>
              <span className="second small">{text}</span>
            </li>
          );
        })}
    </ul>
  );
}
