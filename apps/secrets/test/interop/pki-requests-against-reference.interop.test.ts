import { X509Certificate } from 'node:crypto';
import { BasicOCSPResponse, OCSPResponse } from '@peculiar/asn1-ocsp';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Certificate, CertificateList } from '@peculiar/asn1-x509';
import { ocspQuestion, runOf } from './generated-pki';
import { describeComparison, onlyDiffer } from './request-comparison';
import type { Difference, Told } from './transit-differences';

// Every path of pki against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program. Decision 0260 lists the
// intended differences.

/** Fields without a meaning here, or that only one of the services shows. */
const unsaid = [
  'terms_of_service',
  'allow_token_displayname',
  'enable_aia_url_templating',
  'maintain_stored_certificate_counts',
  'publish_stored_certificate_count_metrics',
];

/** Extensions whose values are random: they name a key. */
const ofKeys = ['2.5.29.14', '2.5.29.35'];

/** A certificate without its random parts and times. */
function shown(bytes: string | Buffer): unknown {
  let read: X509Certificate;
  try {
    read = new X509Certificate(bytes);
  } catch {
    return 'no certificate';
  }
  const { tbsCertificate: tbs } = AsnConvert.parse(read.raw, Certificate);
  const { notBefore, notAfter } = tbs.validity;
  const seconds = (notAfter.getTime().getTime() - notBefore.getTime().getTime()) / 1000;
  return {
    subject: read.subject,
    issuer: read.issuer,
    names: read.subjectAltName,
    minutes: Math.floor(seconds / 60),
    algorithm: tbs.signature.algorithm,
    extensions: (tbs.extensions ?? [])
      .map(({ extnID, critical, extnValue }) =>
        ofKeys.includes(extnID)
          ? extnID
          : `${extnID}${critical ? '!' : ''} ${Buffer.from(extnValue.buffer).toString('hex')}`,
      )
      .sort(),
  };
}

/** A revocation list without its random parts and times. */
function shownList(der: Uint8Array): unknown {
  const { tbsCertList: tbs } = AsnConvert.parse(der, CertificateList);
  const minutes = (tbs.nextUpdate!.getTime().getTime() - tbs.thisUpdate.getTime().getTime()) / 60_000;
  return {
    issuer: tbs.issuer.map((part) => part.map(({ type, value }) => `${type}=${value}`).join()).join(),
    minutes: Math.floor(minutes),
    algorithm: tbs.signature.algorithm,
    revoked: tbs.revokedCertificates?.length ?? 0,
    extensions: (tbs.crlExtensions ?? []).map(({ extnID, critical }) => `${extnID}${critical ? '!' : ''}`).sort(),
  };
}

/** The answer of a responder. */
function shownAnswer(der: Buffer): unknown {
  const { responseStatus, responseBytes } = AsnConvert.parse(der, OCSPResponse);
  if (!responseBytes) return { status: responseStatus };
  const { tbsResponseData: said, signatureAlgorithm } = AsnConvert.parse(
    responseBytes.response.buffer,
    BasicOCSPResponse,
  );
  const answers = said.responses.map(({ certID, certStatus, thisUpdate, nextUpdate }) => ({
    hash: certID.hashAlgorithm.algorithm,
    is: Object.keys(certStatus).filter((name) => certStatus[name as keyof typeof certStatus] !== undefined),
    minutes: nextUpdate && Math.floor((nextUpdate.getTime() - thisUpdate.getTime()) / 60_000),
  }));
  return { status: responseStatus, answers, algorithm: signatureAlgorithm.algorithm };
}

function shownBytes(der: Buffer): unknown {
  for (const read of [shownList, shownAnswer]) {
    try {
      return read(der);
    } catch {}
  }
  return shown(der);
}

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;
const words = (text: string) =>
  text
    .replace(uuid, '«id»')
    .replace(': time: invalid duration', ': invalid duration')
    .replace(/([\da-f]{2}:){4,}[\da-f]{2}/gi, '«serial»')
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(Z| \+0000 UTC)?( m=\S+)?/g, '«time»')
    .replace(/\[([^\]]+)\]/, (_all, names: string) => names.split(' ').sort().join(' '));
const pems = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END [A-Z0-9 ]+-----/g;

function plainText(text: string): unknown {
  const blocks = [...text.matchAll(pems)];
  if (blocks.length === 0)
    return /^0[\x03\x80-\xff]/.test(text) ? shownBytes(Buffer.from(text, 'latin1')) : words(text);
  return blocks.map(([pem, kind]) => {
    if (kind === 'CERTIFICATE') return shown(pem);
    return kind === 'X509 CRL' ? shownList(Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64')) : kind;
  });
}

function plainValue(field: string, value: unknown): unknown {
  if (
    /^(expiration|not_before|revocation_time|time_|last_auto|revocation_queue|internal_backend|created_on)/.test(field)
  ) {
    return typeof value === 'number' && value === 0 ? 0 : typeof value;
  }
  if (field === 'state' && /^(Running|Finished|Cancell)/.test(String(value))) return 'begun';
  if (field === 'key' && typeof value === 'string') return value.length;
  if (typeof value === 'string') {
    if (
      ['certificate', 'issuing_ca', 'ca_chain', 'private_key', 'csr', 'crl'].includes(field) &&
      /^[A-Za-z0-9+/=]{60,}$/.test(value)
    ) {
      return field === 'private_key' || field === 'csr' ? 'der' : shownBytes(Buffer.from(value, 'base64'));
    }
    return plainText(value);
  }
  if (Array.isArray(value)) return value.map((one) => plainValue(field, one));
  if (typeof value !== 'object' || value === null) return value;
  if (field === 'key_info' || field === 'mapping') {
    return Object.entries(value)
      .map(([name, one]) => `${words(name)} ${JSON.stringify(plainValue('', one))}`)
      .sort();
  }
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .filter(([name]) => !unsaid.includes(name))
      .map(([name, each]) => [name, plainValue(name, each === null && name !== 'manual_chain' ? [] : each)]),
  );
}

/** The fields that a warning names, without those that are always ignored. */
const warning = (text: string): string =>
  words(text.replace(/\n-----BEGIN.*/s, '')).replace(
    /(unrecognized parameters: )(.*)/,
    (_all, start: string, names: string) =>
      start +
      names
        .split(' ')
        .filter((name) => ![...unsaid, 'private_key_format', 'issuer_name', 'key_name'].includes(name))
        .join(' '),
  );

function plain(told: Told): Told {
  return {
    ...told,
    data: plainValue('', told.data),
    errors: told.errors
      ?.map((one) => words(one.replace(/\n-----BEGIN.*/s, '')))
      .filter((one) => one !== 'unsupported path'),
    warnings: told.warnings
      .map(warning)
      .filter(
        (one) =>
          !/unrecognized parameters: $|roles? references? |^Warning \d during CRL rebuild: |^parameters key_type and key_bits ignored|^Issuing Certificate was set to default/.test(
            one,
          ),
      )
      .sort(),
  };
}

const text = ({ errors }: Told): string => errors?.[0] ?? '';
/** Reasons to refuse one request. Of several errors any may be named. */
const mistakes = [
  /^role requires (keys of|a minimum)|^cn_validations value|^expected first cert|^the "exported" path|^the provided URI/,
  /^"ttl" value must be less|^unsupported hash signature|object identifier$/,
  /(not allowed|are not valid|is not valid) (by|in|for) this role|not allowed in this role/,
  /^(IP|URI) Subject Alternative Names/,
  /^(the value|the IP address|could not parse|invalid|unable to parse|requested|other SAN)/,
  /^could not fetch the CA certificate|^error fetching CA certificate|^unable to find PKI|^failed to lookup public key/,
  /^(unknown role|unknown key type|role key type)|^the common_name field is required/,
  /^(failed to validate role: )?(unsupported bit length|unsupported key bit length)/,
  /^(Either ttl or not_after|cannot satisfy request|parsing time|The certificate's Not Before|field not_after)/,
  /^(ext_)?key_usage: unknown|could not be parsed as a valid oid|unknown (extended )?key usage/,
  /external_key_ref|^kms: /,
  /private_key|^provided (key|private)|^(The serial number|Must have|Must provide)|^Can not publish/i,
  /^page_size must|^Validation for key_type|^RSA keys <|^error parsing allowed_ip|^while fetching issuer/,
  /^Error parsing key|^failed to parse PEM block/,
  /^(csr|"csr"|certificate request|[Tt]he "format"|the "private_key_format")/,
  /^(Error parsing|error parsing|certificate (could not|contains|with serial)|given certificate|provided)/,
  /^crls: |^failed decoding crl|^extension entry|^(revoked_certs|extensions): |^failed parsing|^unknown format value|^failed to resolve issuer/,
  /dns_resolver|DNS resolver|^allowed_role|^failed validating allowed_issuers|^cannot use '\*'|^ACME feature|default.directory.policy|^invalid eab policy/,
  /^given \w+ could not be decoded/,
  /^(next_update|crl_number|delta_crl_base_number) parameter|^invalid value for next_update|^error while attempting/,
  /^(error converting input|Unknown value for field|Unknown signature|Unable to parse)/,
  /^new key name outside|^(expected non-empty|reserved keyword|issuer name|key name|Error resolving)/,
  /(safety_buffer|SafetyBuffer) must be|must be greater than (or equal to )?0 got|^CRL (auto-rebuilding|delta rebuild)|^Delta CRLs|^Auto-tidy enabled|^Error parsing pause_duration/,
  /^(signing certificate has|max_path_length|this issuer|no default)/i,
];
const isMistake = (told: Told) => mistakes.some((one) => one.test(text(told)));
const bodyHas = (field: string, ...values: unknown[]) =>
  ((_ours, _theirs, { body }) =>
    body !== undefined && field in body && values.includes(body[field])) satisfies Difference['fits'];
const differences: readonly Difference[] = [
  {
    why: 'a field that is null is absent',
    fits: (_o, _t, { body }) => JSON.stringify(body ?? {}).includes(':null'),
    parts: true,
  },
  {
    why: 'another mistake is named',
    fits: (ours, theirs) => ours.status === theirs.status && isMistake(ours) && isMistake(theirs),
  },
  {
    why: 'an empty time is none',
    fits: (ours, theirs, request) =>
      /^parsing time ""/.test(text(theirs)) &&
      (bodyHas('not_after', '')(ours, theirs, request) || bodyHas('not_before', '')(ours, theirs, request)),
  },
  {
    why: 'no certificate ends before it begins',
    fits: (ours, theirs) => theirs.status === 200 && /^The certificate's Not Before/.test(text(ours)),
  },
  {
    why: 'a kind of key is not a path',
    fits: (ours, theirs, { path }) => path.startsWith('keys/generate/') && ours.status === 400 && theirs.status === 404,
  },
  {
    why: 'what was revoked before is told the same again',
    fits: (ours, theirs, { path }) =>
      path.endsWith('/revoke') && ours.status === 200 && theirs.status === 200 && theirs.warnings.length === 0,
  },
  { why: 'an empty duration is none', fits: (ours) => /invalid duration ""/.test(text(ours)) },
  {
    why: 'fields that are not used are not converted, and a list may be sent as one',
    fits: (ours, theirs) =>
      ours.status === 200 && /for field "(alt_names|private_key_format|maintain_\w+|publish_\w+)"$/.test(text(theirs)),
  },
  {
    why: 'authorities begin when they are asked to',
    fits: (ours, theirs, { body, path }) =>
      Boolean(body?.not_before) && /^(root|issuers)\//.test(path) && onlyDiffer(ours, theirs, /\.minutes$/),
    parts: true,
  },
  {
    why: 'certificates begin when they are asked to',
    fits: (ours, theirs, { body, method }) =>
      (Boolean(body?.not_before) && /^parsing time/.test(text(ours))) ||
      ((Boolean(body?.not_before) || method === 'GET') && onlyDiffer(ours, theirs, /\.minutes$/)),
  },
  {
    why: 'names in place of an empty subject are critical',
    fits: (ours, theirs) =>
      /"2\.5\.29\.17! /.test(JSON.stringify(ours.data)) &&
      JSON.stringify(ours).replaceAll('"2.5.29.17! ', '"2.5.29.17 ') === JSON.stringify(theirs),
  },
  {
    why: 'a certificate that is signed again names the deltas of its new issuer',
    fits: (ours, theirs, { path }) =>
      path.endsWith('sign-self-issued') && onlyDiffer(ours, theirs, /^data\.certificate\.0\.extensions$/),
  },
  {
    why: 'the key of an issuer decides about the hash',
    fits: (ours, theirs, { path }) => /\bsign\b/.test(path) && onlyDiffer(ours, theirs, /\.algorithm$/),
  },
  {
    why: 'what is not there is not found in any form',
    fits: (ours, theirs, { path }) => /^cert\/.*\/raw/.test(path) && ours.status === 404 && theirs.status === 204,
  },
  {
    why: 'addresses of deltas are set as all others are',
    fits: (ours, theirs) => onlyDiffer(ours, theirs, /^data\.delta_crl_distribution_points/),
    parts: true,
  },
  {
    why: 'an issuer has no more authorities below it than its certificate says',
    fits: (ours, theirs) => theirs.status === 200 && /^max_path_length: /.test(text(ours)),
  },
  {
    why: 'what a responder does not answer is an answer of OCSP, and of other authorities it says nothing',
    fits: (ours, theirs, { path }) =>
      path.startsWith('ocsp/') &&
      ours.status === 200 &&
      [1, 6].includes((ours.data as { status: number }).status) &&
      (onlyDiffer(ours, theirs, /^status$/) || JSON.stringify(theirs.data).includes('"is":["unknown"]')),
  },
  {
    why: 'a directory that is not there is a path that is not there',
    fits: (ours, theirs, { path }) =>
      path.endsWith('/acme/directory') || path === 'acme/directory' ? onlyDiffer(ours, theirs, /^errors$/) : false,
  },
  {
    why: 'a role that is not there is not found',
    fits: (ours, theirs, { method }) =>
      method === 'PATCH' && ours.status === 404 && text(theirs) === 'Unable to fetch role entry to patch',
  },
  {
    why: 'ACME keeps its certificates also where its role does not',
    fits: (ours, theirs) => ours.status === 200 && /role can not be used as NoStore is set to true$/.test(text(theirs)),
  },
  {
    why: 'what is removed is told by tidy-status',
    fits: (ours, theirs, { path }) => path === 'tidy' && onlyDiffer(ours, theirs, /^warnings/),
  },
  {
    why: 'a removal ends in its own time',
    fits: (ours, theirs, { path }) =>
      (path === 'tidy-cancel' && ours.status < 300 && theirs.status < 300) ||
      (path === 'tidy-status' && onlyDiffer(ours, theirs, /^data\.(message|time_finished|last_auto_tidy_finished)$/)),
  },
  {
    why: 'an issuer that is gone is not named',
    fits: (ours, theirs, { path }) =>
      path.startsWith('cert/') && ours.status === 200 && onlyDiffer(ours, theirs, /^data\.issuer_id$/),
  },
  {
    why: 'a page has a size',
    fits: (ours, theirs) => theirs.status < 300 && /^page_size must/.test(text(ours)),
  },
  {
    why: 'deltas are made where they are enabled',
    fits: (ours, theirs, { path }) => /\bdelta/.test(path) && ours.status === 204 && theirs.status === 200,
  },
  {
    why: 'a list does not end before it begins',
    fits: (ours, theirs) => theirs.status === 200 && /must be greater than (or equal to )?0 got/.test(text(ours)),
  },
  {
    why: 'a key has a name for itself',
    fits: (ours, theirs, { path }) =>
      path.startsWith('key/') && theirs.status === 200 && text(ours) === 'key name already in use',
  },
  {
    why: 'an empty list is none',
    fits: (ours, theirs, { body }) => body?.alt_names === ',' && onlyDiffer(ours, theirs, /^warnings/),
  },
  {
    why: 'an unknown use of a key is refused',
    fits: (ours, theirs) =>
      theirs.status === 200 && /^(ext_)?key_usage: unknown|could not be parsed as a valid oid/.test(text(ours)),
  },
  {
    why: 'addresses in certificates keep no list from being made',
    fits: (ours, theirs) => ours.status === 200 && /^error encountered during CRL building.*AIA URL/.test(text(theirs)),
  },
  {
    why: 'a request has no lifetime',
    fits: (_ours, theirs, { path }) =>
      /intermediate/.test(path) &&
      (theirs.warnings.some((one) => one.startsWith('TTL ')) ||
        /^(Either ttl or not_after|parsing time)/.test(text(theirs))),
  },
  {
    why: 'only default means the default',
    fits: (ours, _theirs, { path }) => path.startsWith('issuer/DEFAULT') && ours.status === 400,
  },
  {
    why: 'a key of another type or size than that of the role is refused',
    fits: (ours, theirs) => theirs.status === 200 && /^role requires keys of/.test(text(ours)),
  },
  {
    why: 'a name of an address must be one',
    fits: (ours, theirs) => theirs.status === 200 && /Alternative Name ".*" is not a valid URI$/.test(text(ours)),
  },
  {
    why: 'the type of a key as it is written here',
    fits: (ours, theirs) => ours.status === theirs.status && /^unable to use issuer of type/.test(text(theirs)),
  },
  {
    why: 'with use_csr_values all names are those of the request, kind by kind',
    fits: (ours, theirs, { path, body }) =>
      path.endsWith('sign-intermediate') &&
      Boolean(body?.use_csr_values) &&
      (ours.status === theirs.status || /SAN|is not a valid IP address$/.test(text(theirs))),
  },
  {
    why: 'one of two settings may be sent',
    fits: (ours, theirs, { path }) =>
      path === 'config/issuers' && ours.status === 200 && /^Invalid issuer specification/.test(text(theirs)),
  },
  {
    why: 'the buffer of revoked certificates stays where it is not sent',
    fits: (ours, theirs, { path, body }) =>
      path === 'config/auto-tidy' && ours.status === theirs.status && !('revoked_safety_buffer' in (body ?? {})),
  },
  {
    why: 'roots are left out of a bundle, too',
    fits: (_ours, _theirs, { body }) => body?.format === 'pem_bundle' && Boolean(body.remove_roots_from_chain),
  },
  {
    why: 'what names no key is still there to read',
    fits: (ours, theirs, { method, path }) =>
      method === 'GET' &&
      /^(ca|ca_chain|cert)\b/.test(path) &&
      (theirs.status === 204 || /unable to fetch corresponding key/.test(text(theirs))) &&
      ours.status === 200,
  },
  {
    why: 'an authority whose certificate says nothing of uses has them all',
    fits: (ours, theirs) =>
      ours.status === 200 &&
      (/lacks the CRLSign KeyUsage value/.test(text(theirs)) || onlyDiffer(ours, theirs, /^data\.usage$/)),
    parts: true,
  },
  {
    why: 'of a certificate that was not issued here nothing good is said',
    fits: (ours, theirs, { path }) =>
      path.startsWith('ocsp/') && JSON.stringify(ours).replace('"unknown"', '"good"') === JSON.stringify(theirs),
  },
  {
    why: 'items of a list are objects',
    fits: (ours, theirs) =>
      theirs.status === 200 && /^error converting input for field "(revoked_certs|extensions)"/.test(text(ours)),
  },
  {
    why: 'a list has only what its authority signed, and stays when another authority comes',
    fits: (ours, theirs, { method, path }) =>
      method === 'GET' && /\bcrl\b/.test(path) && onlyDiffer(ours, theirs, /\.(revoked|minutes|extensions)$/),
  },
  {
    why: 'a bundle has the key in the form that was asked for',
    fits: (ours, theirs, { body }) =>
      body?.format === 'pem_bundle' &&
      body.private_key_format === 'pkcs8' &&
      onlyDiffer(ours, theirs, /^data\.certificate\.0$/),
  },
  {
    why: 'a name that is left out is told',
    fits: (ours, theirs) =>
      ours.warnings.some((one) => / was left out$/.test(one)) && onlyDiffer(ours, theirs, /^warnings/),
  },
  { why: 'certificates are not counted', fits: (_ours, theirs) => /^Can not publish a running/.test(text(theirs)) },
  {
    why: 'authorities that are imported are listed, and certificates that only one side signed',
    fits: (_ours, _theirs, { path }) => path.startsWith('certs'),
  },
  {
    why: 'an issuer that is imported again stays revoked',
    fits: (ours, theirs) =>
      (theirs.status === 200 && /: requested usage issuing-certificates for issuer/.test(text(ours))) ||
      ((ours.data as { revoked?: boolean } | null)?.revoked === true &&
        onlyDiffer(ours, theirs, /^data\.(usage|revoked|revocation_time|revocation_time_rfc3339)$/)),
  },
  {
    why: 'roles that name an issuer are not counted',
    fits: (ours, theirs, { method }) => method === 'DELETE' && ours.status === 204 && theirs.status === 200,
  },
  {
    why: 'a key is not called default',
    fits: (ours, theirs) => /^reserved keyword 'default'/.test(text(ours)) && theirs.status === 200,
  },
  {
    why: 'an empty name is none',
    fits: (ours, theirs) => ours.status === 200 && /^key name contained invalid/.test(text(theirs)),
  },
  { why: 'an empty address of the cluster clears it', fits: (_o, theirs) => /given to cluster: $/.test(text(theirs)) },
  {
    why: 'what is not used takes no name away',
    fits: (ours, theirs, { path }) =>
      path.startsWith('issuer/') && /^expected non-empty issuer name/.test(text(theirs)) && ours.status === 200,
  },
];

describeComparison({
  type: 'pki',
  requests: 600,
  longRequests: 20_000,
  perRun: 60,
  runOf,
  kept: ['issuer_id', 'key_id', 'serial_number', 'certificate', 'private_key', 'id'],
  made: {
    // The first certificate of a run is that of its first authority.
    ocsp: (keptOf, n) => encodeURIComponent(ocspQuestion(keptOf('certificate', 0), keptOf('serial_number', n))),
  },
  plain,
  differences,
  isApart: ({ path }) => /^(issuer\/[^/]+\/)?(issue|sign|sign-verbatim|sign-intermediate)\b|^root\/sign/.test(path),
  often: {
    oneIn: 1000,
    of: ['POST roles 2xx', 'POST issue 2xx', 'POST sign 2xx', 'POST sign 4xx', 'POST revoke 2xx'],
  },
});
