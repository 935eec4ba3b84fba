import { randomBytes } from 'node:crypto';
import { carry } from './carry';
import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';
import type { CarriedMount } from './mounts';
import type { Data } from './server';

/** What an auth method holds: lists of named settings, and perhaps a configuration. */
interface AuthMethod {
  readonly lists: readonly { readonly folder: string; readonly kind: string }[];
  readonly config?: {
    /** By fields that are shown: the secret that belongs to them, and is not. */
    readonly hidden: Readonly<Record<string, string>>;
    readonly besides?: Data;
    readonly isUnset?: (here: Data) => boolean;
    /** It cannot be written without its secret. */
    readonly needsHidden?: true;
  };
}

const role = { folder: 'role', kind: 'role' };
const oidc: AuthMethod = {
  lists: [role],
  config: {
    hidden: { oidc_client_id: 'oidc_client_secret' },
    // The issuer may be out of reach of this service for the moment.
    besides: { skip_jwks_validation: true },
    needsHidden: true,
  },
};
const methods: ReadonlyMap<string, AuthMethod> = new Map(
  Object.entries<AuthMethod>({
    approle: { lists: [role] },
    userpass: { lists: [{ folder: 'users', kind: 'user' }] },
    jwt: oidc,
    oidc,
    cert: { lists: [{ folder: 'certs', kind: 'certificate role' }], config: { hidden: {} } },
    kubernetes: { lists: [role], config: { hidden: { token_reviewer_jwt_set: 'token_reviewer_jwt' } } },
    ldap: {
      lists: [
        { folder: 'groups', kind: 'group of a directory' },
        { folder: 'users', kind: 'user of a directory' },
      ],
      config: {
        hidden: { binddn: 'bindpass', client_tls_cert: 'client_tls_key' },
        // Read before anybody has written it, it shows its defaults.
        isUnset: ({ url, binddn, userdn }) => url === 'ldap://127.0.0.1' && !binddn && !userdn,
      },
    },
  }),
);

/** Copies what an auth method holds. */
export async function carryMethod(place: NamespacePair, { path, type }: CarriedMount): Promise<void> {
  const { lists, config } = methods.get(type) ?? { lists: [] };
  const mount = `auth/${path}`;
  if (config) await carryConfig(place, `${mount}config`, config);
  let passwords = 0;
  for (const { folder, kind } of lists) {
    for await (const name of namesThere(place, `${mount}${folder}`)) {
      const at = `${mount}${folder}/${name}`;
      const there = await attempt(place.job, () => place.from.find(at));
      if (!there) continue;
      // Users without a password cannot be made: this one is nobody's.
      const besides = type === 'userpass' ? { password: randomBytes(32).toString('base64url') } : undefined;
      const ignored = type === 'approle' ? ['role_id'] : [];
      const written = await carry(place, { kind, path: at, there, besides, ignored });
      if (written && besides) passwords += 1;
      if (type === 'approle') await carryRoleId(place, at);
    }
  }
  if (passwords > 0) {
    const names = `${passwords} user${passwords === 1 ? ' has' : 's have'}`;
    place.job.report.leave(`${labelOf(place, mount)}: ${names} a password that nobody knows: set it anew`);
  }
}

/** Copies the roles by which tokens are made. */
export async function carryTokenRoles(place: NamespacePair): Promise<void> {
  for await (const name of namesThere(place, 'auth/token/roles')) {
    const path = `auth/token/roles/${name}`;
    const there = await attempt(place.job, () => place.from.find(path));
    if (there) await carry(place, { kind: 'token role', path, there, ignored: ['name'] });
  }
}

async function carryConfig(
  place: NamespacePair,
  path: string,
  config: NonNullable<AuthMethod['config']>,
): Promise<void> {
  const { job } = place;
  const label = labelOf(place, path);
  const there = await attempt(job, () => place.from.find(path));
  if (!there) return;
  const secrets = Object.entries(config.hidden).filter(([shown]) => there[shown]);
  const before = await attempt(job, () => findHere(place, path));
  const isNew = !before || config.isUnset?.(before) === true;
  if (isNew && secrets.length > 0) {
    const names = secrets.map(([, secret]) => secret).join(', ');
    const whole = config.needsHidden ? 'the configuration was not copied: write it' : 'write it';
    job.report.leave(`${label}: ${names} is not shown there: ${whole} with it`);
    if (config.needsHidden) return;
  }
  // A method that nobody has configured there shows its defaults, or nothing.
  await carry(place, { kind: 'configuration', path, there, ignored: ['status'], ...config });
}

async function carryRoleId(place: NamespacePair, role: string): Promise<void> {
  const { job, from, to } = place;
  await attempt(job, async () => {
    const there = (await from.find(`${role}/role-id`))?.role_id;
    const here = (await findHere(place, `${role}/role-id`))?.role_id;
    if (there !== here && !job.dryRun) await to.write(`${role}/role-id`, { role_id: there });
  });
  let count = 0;
  for await (const _ of namesThere(place, `${role}/secret-id`)) count += 1;
  if (count > 0) job.report.leave(`${labelOf(place, role)}: ${count} secret ids are not shown there: make new ones`);
}
