import type { z } from 'zod';
import { collection } from '../../sdk/collection';
import { bool, commaList, duration, int, olderName, string } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import { BadCertificate, type Certificate, certificatesIn, isServer, readCertificate } from './certificate';
import { isForClients } from './chain';
import { checkExtensions } from './constraints';
import { isStrongKey } from './signature';

/** The maximum number of certificates that one role may trust. */
const most = 100;
const mostServers = 10;
const globs = 'The certificate must have at least one of them; * matches any text. If empty, none is required.';

const fields = loginFields({
  certificate: [
    string().optional().describe('Trusted certificates (PEM): CA certificates or client certificates.'),
    '',
  ],
  display_name: [string().describe('Display name of the tokens. Default: the name of the role.'), ''],
  allowed_names: [
    commaList().describe(`Allowed common names, DNS names and email addresses. ${globs} Older form.`),
    [],
  ],
  allowed_common_names: [commaList().describe(`Allowed common names. ${globs}`), []],
  allowed_dns_sans: [commaList().describe(`Allowed DNS names. ${globs}`), []],
  allowed_email_sans: [commaList().describe(`Allowed email addresses. ${globs}`), []],
  allowed_uri_sans: [commaList().describe(`Allowed URIs. ${globs}`), []],
  allowed_organizational_units: [commaList().describe(`Allowed organizational units. ${globs}`), []],
  required_extensions: [
    commaList().describe(
      'Extensions that the certificate must have, as OID:value, or as hex:OID:value with the DER in hexadecimal. * in a value matches any text.',
    ),
    [],
  ],
  allowed_metadata_extensions: [
    commaList().describe(
      'OIDs of extensions whose values become metadata of the token. Dots in the OID become dashes in the key.',
    ),
    [],
  ],
  ocsp_enabled: [bool().describe('Check the certificate with OCSP at every login.'), false],
  ocsp_ca_certificates: [
    string().describe(
      'Additional certificates (PEM) that may sign OCSP responses, and issuers that are missing in the chain.',
    ),
    '',
  ],
  ocsp_servers_override: [
    commaList().describe('URLs of OCSP responders to use instead of those in the certificate.'),
    [],
  ],
  ocsp_fail_open: [bool().describe('Accept a certificate if no OCSP responder can be reached.'), false],
  ocsp_query_all_servers: [
    bool().describe(
      'true: all OCSP responders must confirm that the certificate is good. false: the first responder that knows the certificate decides.',
    ),
    false,
  ],
  ocsp_this_update_max_age: [
    duration().describe('Maximum age of an OCSP response. 0: no limit other than the end in the response.'),
    0,
  ],
  ocsp_max_retries: [int().describe('Retries of an OCSP responder that cannot be reached, within two seconds.'), 4],
});
/** A role as stored. */
export type CertRole = z.output<typeof fields.input>;
const roles = collection('cert/', fields.input);

/** Finds a role; the case of names is ignored. */
export async function findRole(storage: Storage, name: string): Promise<CertRole | undefined> {
  const role = await roles.find(storage, name.toLowerCase());
  return role && { ...fields.defaults, ...role };
}

/** Every role with its name, in the order of names. */
export async function allRoles(storage: Storage): Promise<{ name: string; role: CertRole }[]> {
  const names = await roles.list(storage);
  const texts = await storage.getMany(names.map((name) => `cert/${name}`));
  return names.flatMap((name) => {
    const text = texts.get(`cert/${name}`);
    return text === undefined ? [] : [{ name, role: { ...fields.defaults, ...(JSON.parse(text) as CertRole) } }];
  });
}

/** The certificates in a PEM string, read. Throws `BadCertificate`. */
export const readAll = (pem: string): Certificate[] => certificatesIn(pem, most).map(readCertificate);

/** The names of the roles. */
export const roleListPath = namesPath('certs', roles, {
  summary: 'The roles of this method.',
  list: 'List the roles.',
});

/** One role. */
export const rolePath = recordPath('certs/:name', roles, {
  folds: { name: 'case' },
  summary: 'A role: which certificates may log in, and the settings of their tokens.',
  read: {
    summary: 'Read a role.',
    output: fields.output,
    show(role) {
      const { defaults } = fields;
      const fieldNames = Object.keys(defaults).filter(
        (name) => !name.startsWith('token_'),
      ) as (keyof typeof defaults)[];
      const roleFields = Object.fromEntries(fieldNames.map((name) => [name, role[name] ?? defaults[name]]));
      return { ...roleFields, ...showTokenParams(role) };
    },
  },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults: fields.defaults,
    input: fields.input.extend({
      lease: olderName(duration(), 'token_ttl'),
    }),
    run({ params, input, fields: sent, storage, mount, warn }) {
      const { lease, ...fields } = input;
      const aged = lease !== undefined && sent.token_ttl == null && sent.ttl == null;
      const normalized = settleTokenParams(aged ? { ...fields, token_ttl: lease, ttl: lease } : fields, sent);
      const role = { ...normalized, display_name: normalized.display_name || params.name };
      checkCertificates(role.certificate ?? '');
      checkExtensions(role);
      checkOcsp(role);
      const { token_ttl: ttl, token_max_ttl: maxTtl, token_period: period } = role;
      if (ttl > mount.defaultLeaseTtlSeconds) warn(longer('ttl', ttl, mount.defaultLeaseTtlSeconds));
      if (maxTtl > mount.maxLeaseTtlSeconds) warn(longer('max_ttl', maxTtl, mount.maxLeaseTtlSeconds));
      if (period > mount.maxLeaseTtlSeconds) warn(longer('period', period, mount.maxLeaseTtlSeconds));
      roles.put(storage, params.name, role);
      return empty;
    },
  },
  delete: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
});

const longer = (name: string, input: number, of: number): string =>
  `Given ${name} of ${input} seconds is greater than current mount/system default of ${of} seconds`;

function readField(pem: string, name: string): Certificate[] {
  try {
    return readAll(pem);
  } catch (error) {
    if (error instanceof BadCertificate) refuse(`failed to parse ${name}: ${error.message}`);
    throw error;
  }
}

function checkOcsp(role: CertRole): void {
  const { ocsp_ca_certificates: pem, ocsp_servers_override: servers, ocsp_max_retries: retries } = role;
  if (pem !== '' && readField(pem, 'ocsp_ca_certificates').length === 0) refuse('failed to parse ocsp_ca_certificates');
  servers.forEach((server, at) => {
    if (!isServer(server)) refuse(`number ${at + 1} of ocsp_servers_override is not an address of http or https`);
  });
  if (retries < 0) refuse('ocsp_max_retries cannot be negative');
  if (servers.length > mostServers) refuse(`ocsp_servers_override has more than ${mostServers} addresses`);
}

function checkCertificates(pem: string): void {
  const found = readField(pem, 'certificate');
  if (found.length === 0) refuse('failed to parse certificate');
  for (const [at, certificate] of found.entries()) {
    if (!isStrongKey(certificate.key)) {
      refuse(
        `number ${at + 1} of certificate has a key that is too weak: use RSA with at least 2048 bits, ECDSA with P-256 or larger, or EdDSA`,
      );
    }
    if (!certificate.isAuthority && !isForClients(certificate)) {
      refuse('nonCA certificates should have TLS client authentication set as an extended key usage');
    }
  }
}
