import { randomBytes } from 'node:crypto';
import { carry } from './carry';
import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';
import type { CarriedMount } from './mounts';
import type { Data } from './server';

interface MethodConfig {
  /** The path of the configuration; default `config`. */
  readonly path?: string;
  /** Secrets that are never shown, by the visible field that they belong to. */
  readonly hidden: Readonly<Record<string, string>>;
  readonly besides?: Data;
  /** Shown fields that are not settings here. */
  readonly ignored?: readonly string[];
  readonly isUnset?: (here: Data) => boolean;
  /** The configuration cannot be written without its secret. */
  readonly needsHidden?: true;
}

/** The content of an auth method or an engine: lists of named settings, and its configurations. */
export interface Held {
  readonly lists: readonly { readonly folder: string; readonly kind: string; readonly ignored?: readonly string[] }[];
  readonly configs?: readonly MethodConfig[];
}

const role = { folder: 'role', kind: 'role' };
const oidc: Held = {
  lists: [role],
  configs: [
    {
      hidden: { oidc_client_id: 'oidc_client_secret' },
      // The issuer may be unreachable for this service at the moment.
      besides: { skip_jwks_validation: true },
      needsHidden: true,
    },
  ],
};
const methods: ReadonlyMap<string, Held> = new Map(
  Object.entries<Held>({
    approle: { lists: [{ ...role, ignored: ['role_id'] }] },
    userpass: { lists: [{ folder: 'users', kind: 'user' }] },
    jwt: oidc,
    oidc,
    cert: { lists: [{ folder: 'certs', kind: 'certificate role' }], configs: [{ hidden: {} }] },
    kubernetes: { lists: [role], configs: [{ hidden: { token_reviewer_jwt_set: 'token_reviewer_jwt' } }] },
    ldap: {
      lists: [
        { folder: 'groups', kind: 'group of a directory' },
        { folder: 'users', kind: 'user of a directory' },
      ],
      configs: [
        {
          hidden: { binddn: 'bindpass', client_tls_cert: 'client_tls_key' },
          // An unwritten configuration shows its defaults.
          isUnset: ({ url, binddn, userdn }) => url === 'ldap://127.0.0.1' && !binddn && !userdn,
        },
      ],
    },
    github: {
      lists: [
        { folder: 'map/teams', kind: 'team of GitHub', ignored: ['key'] },
        { folder: 'map/users', kind: 'user of GitHub', ignored: ['key'] },
      ],
      configs: [{ hidden: {} }],
    },
    aws: {
      // The ids of bound principals are looked up again.
      lists: [{ ...role, ignored: ['role_id', 'bound_iam_principal_id'] }],
      configs: [
        // The access key is useless without its secret.
        { path: 'config/client', hidden: { access_key: 'secret_key of access_key' }, ignored: ['access_key'] },
        {
          path: 'config/identity',
          hidden: {},
          // These are about EC2 logins, which this service does not support.
          ignored: ['ec2_alias', 'ec2_metadata'],
          isUnset: ({ iam_alias }) => iam_alias === 'role_id',
        },
      ],
    },
  }),
);

/** Copies the content of an auth method. */
export async function carryMethod(place: NamespacePair, { path, type }: CarriedMount): Promise<void> {
  const method = methods.get(type) ?? { lists: [] };
  const mount = `auth/${path}`;
  for (const config of method.configs ?? []) await carryConfig(place, `${mount}${config.path ?? 'config'}`, config);
  await carryLists(place, mount, method, type);
}

/** Copies lists of named settings below a mount. */
export async function carryLists(place: NamespacePair, mount: string, { lists }: Held, type = ''): Promise<void> {
  let passwords = 0;
  for (const { folder, kind, ignored } of lists) {
    for await (const name of namesThere(place, `${mount}${folder}`)) {
      const at = `${mount}${folder}/${name}`;
      const there = await attempt(place.job, () => place.from.find(at));
      if (!there) continue;
      // Users cannot be created without a password: this one is random and not stored.
      const besides = type === 'userpass' ? { password: randomBytes(32).toString('base64url') } : undefined;
      const isCopied = await carry(place, { kind, path: at, there, besides, ignored });
      if (isCopied && besides) passwords += 1;
      if (type === 'approle') await carryRoleId(place, at);
    }
  }
  if (passwords > 0) {
    const names = `${passwords} user${passwords === 1 ? ' has' : 's have'}`;
    place.job.report.manualStep(`${labelOf(place, mount)}: ${names} a random password: set a new one`);
  }
}

/** Copies token roles. */
export async function carryTokenRoles(place: NamespacePair): Promise<void> {
  for await (const name of namesThere(place, 'auth/token/roles')) {
    const path = `auth/token/roles/${name}`;
    const there = await attempt(place.job, () => place.from.find(path));
    if (there) await carry(place, { kind: 'token role', path, there, ignored: ['name'] });
  }
}

/** Copies a configuration, and reports the secrets that are missing. */
export async function carryConfig(
  place: NamespacePair,
  path: string,
  { path: _, ignored = [], ...config }: MethodConfig,
): Promise<void> {
  const { job } = place;
  const label = labelOf(place, path);
  const there = await attempt(job, () => place.from.find(path));
  if (!there || config.isUnset?.(there)) return;
  const secrets = Object.entries(config.hidden).filter(([field]) => there[field]);
  const before = await attempt(job, () => findHere(place, path));
  const isNew = !before || config.isUnset?.(before) === true;
  if (isNew && secrets.length > 0) {
    const names = secrets.map(([, secret]) => secret).join(', ');
    const whole = config.needsHidden ? 'the configuration was not copied: write it' : 'write it';
    job.report.manualStep(`${label}: ${names} is not shown there: ${whole} with it`);
    if (config.needsHidden) return;
  }
  await carry(place, { kind: 'configuration', path, there, ignored: ['status', ...ignored], ...config });
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
  if (count > 0)
    job.report.manualStep(`${labelOf(place, role)}: ${count} secret ids are not shown there: make new ones`);
}
