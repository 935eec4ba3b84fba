import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { commaList, duration, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import {
  settleTokenParams,
  showTokenParams,
  tokenAliases,
  tokenDefaults,
  tokenParams,
  tokenParamsOutput,
} from '../../sdk/token-params';
import { BadCertificate, type Certificate, certificatesIn, readCertificate } from './certificate';
import { isForClients, isStrong } from './chain';
import { checkExtensions } from './constraints';

/** So many certificates may be trusted by one role. */
const most = 100;
const globs = 'Texts of which one must be among them; * stands for any text. None asks for nothing.';

const Role = z.object({
  certificate: string()
    .optional()
    .describe('Certificates (PEM) to trust: of authorities, or those of the clients themselves.'),
  display_name: string().describe('Name of the tokens; the role’s unless said.'),
  allowed_names: commaList().describe(`Common names, DNS names and e-mail addresses. ${globs} Older form.`),
  allowed_common_names: commaList().describe(`Common names. ${globs}`),
  allowed_dns_sans: commaList().describe(`DNS names. ${globs}`),
  allowed_email_sans: commaList().describe(`E-mail addresses. ${globs}`),
  allowed_uri_sans: commaList().describe(`URIs. ${globs}`),
  allowed_organizational_units: commaList().describe(`Organizational units. ${globs}`),
  required_extensions: commaList().describe(
    'Extensions that must all be there, as oid:text, or hex:oid:hexadecimal of their DER; * stands for any text.',
  ),
  allowed_metadata_extensions: commaList().describe(
    'Extensions (oid) whose texts the token tells, with - for the dots.',
  ),
  ...tokenParams.shape,
  ...tokenAliases.shape,
});
/** A role as stored. */
export type CertRole = z.output<typeof Role>;
const roles = collection('cert/', Role);

const defaults = {
  ...tokenDefaults,
  certificate: '',
  display_name: '',
  allowed_names: [],
  allowed_common_names: [],
  allowed_dns_sans: [],
  allowed_email_sans: [],
  allowed_uri_sans: [],
  allowed_organizational_units: [],
  required_extensions: [],
  allowed_metadata_extensions: [],
};

/** Finds a role; names are compared without case. */
export function findRole(storage: Storage, name: string): Promise<CertRole | undefined> {
  return roles.find(storage, name.toLowerCase());
}

/** Every role with its name, in the order of names. */
export async function allRoles(storage: Storage): Promise<{ name: string; role: CertRole }[]> {
  const names = await roles.list(storage);
  const texts = await storage.getMany(names.map((name) => `cert/${name}`));
  return names.flatMap((name) => {
    const text = texts.get(`cert/${name}`);
    return text === undefined ? [] : [{ name, role: JSON.parse(text) as CertRole }];
  });
}

/** The certificates of a text in PEM, read. Throws `BadCertificate`. */
export const readAll = (pem: string): Certificate[] => certificatesIn(pem, most).map(readCertificate);

/** The names of the roles. */
export const roleListPath = path('certs', {
  summary: 'The roles of this method.',
  list: {
    summary: 'List the roles.',
    output: z.object({ keys: z.array(z.string()) }),
    run: async ({ storage }) => keys(await roles.list(storage)),
  },
});

const names = z.array(z.string());

/** One role. */
export const rolePath = path('certs/:name', {
  folds: { name: 'case' },
  summary: 'Which certificates log in under a name, and what their tokens are.',
  stored: ({ params, storage }) => roles.find(storage, params.name),
  read: {
    summary: 'Read a role.',
    output: tokenParamsOutput.extend({
      certificate: z.string(),
      display_name: z.string(),
      allowed_names: names,
      allowed_common_names: names,
      allowed_dns_sans: names,
      allowed_email_sans: names,
      allowed_uri_sans: names,
      allowed_organizational_units: names,
      required_extensions: names,
      allowed_metadata_extensions: names,
    }),
    async run({ params, storage }) {
      const role = await roles.find(storage, params.name);
      if (!role) return missing;
      const shown = Object.keys(defaults).filter((name) => !(name in tokenDefaults)) as (keyof typeof defaults)[];
      const own = Object.fromEntries(shown.map((name) => [name, role[name] ?? defaults[name]]));
      return data({ ...own, ...showTokenParams(role) });
    },
  },
  write: {
    summary: 'Create a role, or change what is named.',
    update: 'merge',
    defaults,
    input: Role.extend({ lease: duration().optional().describe('Oldest name of token_ttl.') }),
    run({ params, input, fields, storage, mount, warn }) {
      const { lease, ...given } = input;
      const aged = lease !== undefined && fields.token_ttl == null && fields.ttl == null;
      const settled = settleTokenParams(aged ? { ...given, token_ttl: lease, ttl: lease } : given, fields);
      const role = { ...settled, display_name: settled.display_name || params.name };
      checkCertificates(role.certificate ?? '');
      checkExtensions(role);
      const { token_ttl: ttl, token_max_ttl: maxTtl, token_period: period } = role;
      if (ttl > mount.defaultLeaseTtlSeconds) warn(longer('ttl', ttl, mount.defaultLeaseTtlSeconds));
      if (maxTtl > mount.maxLeaseTtlSeconds) warn(longer('max_ttl', maxTtl, mount.maxLeaseTtlSeconds));
      if (period > mount.maxLeaseTtlSeconds) warn(longer('period', period, mount.maxLeaseTtlSeconds));
      roles.put(storage, params.name, role);
      return empty;
    },
  },
  delete: {
    summary: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
    run({ params, storage }) {
      roles.delete(storage, params.name);
      return empty;
    },
  },
});

const longer = (name: string, given: number, of: number): string =>
  `Given ${name} of ${given} seconds is greater than current mount/system default of ${of} seconds`;

function checkCertificates(pem: string): void {
  let found: Certificate[];
  try {
    found = readAll(pem);
  } catch (error) {
    if (error instanceof BadCertificate) refuse(`failed to parse certificate: ${error.message}`);
    throw error;
  }
  if (found.length === 0) refuse('failed to parse certificate');
  for (const [at, certificate] of found.entries()) {
    if (!isStrong(certificate.key)) {
      refuse(
        `number ${at + 1} of certificate has a key that is too weak: RSA of 2048 bits or more, P-256 or more, EdDSA`,
      );
    }
    if (!certificate.isAuthority && !isForClients(certificate)) {
      refuse('nonCA certificates should have TLS client authentication set as an extended key usage');
    }
  }
}

function refuse(text: string): never {
  throw new Refusal('invalid', text);
}
