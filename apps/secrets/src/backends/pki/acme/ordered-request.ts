import { AsnConvert } from '@peculiar/asn1-schema';
import { BasicConstraints, id_ce_basicConstraints } from '@peculiar/asn1-x509';
import { pemOf } from '../../../sdk/pem';
import { readRequest } from '../csr';
import { checkKey } from '../issue';
import type { Leaf } from '../leaf';
import { requestedNames } from '../requested-names';
import type { Role } from '../role';
import { ownNames } from '../subject';
import { type Identifier, namesOf, textOf } from './identifier';
import { asProblem, fail } from './problem';

const longestCommonName = 64;

/**
 * Parses the CSR that finalizes an order. Throws `badCSR` if it contains names other than those of the order, requests
 * a CA, or has a key that the role does not allow.
 */
export async function readOrdered(role: Role, identifiers: readonly Identifier[], der: Buffer): Promise<Leaf> {
  return asProblem('badCSR', () => {
    const csr = readRequest(pemOf(der, 'CERTIFICATE REQUEST'));
    checkKey(role, csr);
    const basic = csr.extensions.find(({ extnID }) => extnID === id_ce_basicConstraints);
    if (basic && AsnConvert.parse(basic.extnValue.buffer, BasicConstraints).cA)
      fail('badCSR', 'csr requests a CA certificate');
    const { dns, emails, addresses, uris, others } = csr.names;
    if (emails.length + uris.length + others.length > 0)
      fail('badCSR', 'csr has names that are not host names or IP addresses');
    const commonName = ownNames(csr.subject).commonName.toLowerCase();
    const requested = new Set(
      [...dns, ...addresses, ...(commonName === '' ? [] : [commonName])].map((name) => name.toLowerCase()),
    );
    const ordered = new Set(identifiers.map(textOf));
    if (requested.size !== ordered.size || ![...requested].every((name) => ordered.has(name))) {
      fail(
        'badCSR',
        `csr has the names ${[...requested].join(', ').slice(0, 500)}; the order has ${[...ordered].join(', ').slice(0, 500)}`,
      );
    }
    const short = [...ordered].find((name) => name.length <= longestCommonName) ?? '';
    const common_name = commonName !== '' ? commonName : role.require_cn ? short : '';
    const request = { common_name, ...namesOf(identifiers), exclude_cn_from_sans: true };
    const { subject, names } = requestedNames({ ...role, require_cn: false }, request, undefined, () => {});
    return { subject, names, publicKey: csr.publicKey };
  });
}
