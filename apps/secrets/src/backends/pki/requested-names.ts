import type { Name } from '@peculiar/asn1-x509';
import { refuse } from '../../sdk/refuse';
import { AllowedNames, sortedNames } from './allowed-names';
import { type AlternativeNames, readAddress } from './alternative-names';
import type { ReadRequest } from './csr';
import { readOtherName } from './other-name';
import type { Role } from './role';
import { ownNames, subjectName } from './subject';

/** The names that a request asks for. */
export interface AskedNames {
  readonly common_name?: string;
  readonly alt_names?: readonly string[];
  readonly ip_sans?: readonly string[];
  readonly uri_sans?: readonly string[];
  readonly other_sans?: readonly string[];
  readonly serial_number?: string;
  readonly exclude_cn_from_sans?: boolean;
  readonly user_ids?: readonly string[];
}

/**
 * The names of a certificate: the names of the request, and the names of its CSR if the role uses them. Throws
 * `invalid` for the first name that the role does not allow.
 */
export function requestedNames(
  role: Role,
  request: AskedNames,
  csr: ReadRequest | undefined,
  warn: (text: string) => void,
): { subject: Name; names: AlternativeNames } {
  const own = csr && ownNames(csr.subject);
  const commonName = (role.use_csr_common_name && own?.commonName) || (request.common_name ?? '');
  if (commonName === '' && role.require_cn) {
    refuse(
      'the common_name field is required, or must be provided in a CSR with "use_csr_common_name" set to true, unless "require_cn" is set to false',
    );
  }
  const serialNumber = request.serial_number || (own?.serialNumber ?? '');
  const fromCsr = role.use_csr_sans ? csr?.names : undefined;
  const inSans = request.exclude_cn_from_sans || commonName === '' ? [] : [commonName];
  // The role may allow any common name. A common name that is not a host or email is not a SAN.
  const ofCommonName = sortedNames(inSans, () => {});
  const asNames = sortedNames(fromCsr ? [] : (request.alt_names ?? []), (name) =>
    warn(`alt_names: ${JSON.stringify(name)} is neither a host name nor an email address, and was left out`),
  );
  const dns = unique([...(fromCsr?.dns ?? []), ...ofCommonName.dns, ...asNames.dns]);
  const emails = unique([...(fromCsr?.emails ?? []), ...ofCommonName.emails, ...asNames.emails]);
  const allowed = new AllowedNames(role, fromCsr ? 'CSR' : 'the API');
  if (commonName !== '') allowed.checkCommonName(commonName);
  if (serialNumber !== '') allowed.checkSerialNumber(serialNumber);
  allowed.checkHosts(dns, emails);
  const others = [...(request.other_sans ?? []).map((text) => readOtherName(text)), ...(fromCsr?.others ?? [])];
  allowed.checkOthers(others);
  const addresses = unique(fromCsr?.addresses ?? (request.ip_sans ?? []).map(readAddress));
  allowed.checkAddresses(addresses);
  const uris = unique(fromCsr?.uris ?? request.uri_sans ?? []);
  allowed.checkUris(uris);
  const userIds = request.user_ids?.length ? request.user_ids : (own?.userIds ?? []);
  allowed.checkUserIds(userIds);
  return {
    subject: subjectName(role, { commonName, serialNumber, userIds }),
    names: { dns, emails, addresses, uris, others },
  };
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
