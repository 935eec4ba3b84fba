import { readSshCertificate } from '../ssh-certificate';
import { runOf } from './generated-ssh';
import { describeComparison, onlyDiffer } from './request-comparison';
import type { Difference, Told } from './transit-differences';

// Every path of ssh against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program. Decision 0266 lists the
// intended differences.

/** A certificate without its random parts and times. */
function shown(line: string): unknown {
  const { serial: _random, signer, validAfter, validBefore, keyId, ...rest } = readSshCertificate(line);
  return {
    ...rest,
    keyId: keyId.replace(/[\da-f]{64}/, '«hash»').replace(/\b(root|token)\b/, '«who»'),
    signer: signer.split(' ')[0],
    seconds: validBefore - validAfter,
    end: line.endsWith('\n'),
  };
}

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;

function plainValue(field: string, value: unknown): unknown {
  if (field === 'signed_key') return shown(String(value));
  if (field === 'serial_number') return /^[\da-f]{1,16}$/.test(String(value));
  if (field === 'private_key') return String(value).split('\n')[0];
  if (field === 'public_key') return String(value).replace(/ .*/s, (key) => ` «${key.length}»`);
  if (typeof value === 'string') return value.replace(uuid, '«id»');
  if (Array.isArray(value)) return field === 'keys' ? value.map((one) => String(one).replace(uuid, '«id»')) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (field === 'key_info') {
    return Object.values(value)
      .map((one) => JSON.stringify(plainValue('', one)))
      .sort();
  }
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([name, each]) => [name, plainValue(name, each)]),
  );
}

function plain(told: Told): Told {
  const words = (text: string) =>
    text.replace(uuid, '«id»').replace(/\[[^\]]+\]/, (names) => names.slice(1, -1).split(' ').sort().join(' '));
  const data = typeof told.data === 'string' ? plainValue('public_key', told.data) : plainValue('', told.data);
  return { ...told, data, errors: told.errors?.map(words), warnings: told.warnings.map(words).sort() };
}

const text = ({ errors }: Told): string => errors?.[0] ?? '';
const both = (ours: Told, theirs: Told, one: RegExp, other = one): boolean =>
  ours.status === theirs.status && one.test(text(ours)) && other.test(text(theirs));
const rolesIn = ({ data }: Told): readonly string[] => (data as { roles?: string[] | null } | null)?.roles ?? [];
/** Reasons to refuse one request. Of several errors any may be named. */
const mistakes = [
  /^refusing to issue unsafe, globally-valid certificate/,
  /^extensions .* are not on allowed list$/,
  /^failed to generate signed SSH key|^algorithm_signer rsa/,
  /^(expected non-empty issuer name|unable to find issuer|reserved keyword|issuer name contained invalid)/,
];
const differences: readonly Difference[] = [
  {
    why: 'another mistake is named',
    fits: (ours, theirs) =>
      ours.status === theirs.status && [ours, theirs].every((told) => mistakes.some((one) => one.test(text(told)))),
  },
  {
    why: 'a certificate without names needs a role that allows it',
    fits: (ours, theirs) => theirs.status === 200 && /^refusing to issue unsafe, globally-valid/.test(text(ours)),
  },
  {
    why: 'a public key is that of the private key, without a comment',
    fits: (ours, theirs, { body }) =>
      / \S+$/.test(String(body?.public_key)) && onlyDiffer(ours, theirs, /^data\.public_key$/),
  },
  {
    why: 'certificates of hosts have no default extensions, which are rights of users',
    fits: (ours, theirs, { body }) =>
      body?.cert_type === 'host' && onlyDiffer(ours, theirs, /^data\.signed_key\.extensions\./),
  },
  {
    why: 'a role may name the default issuer in any letters',
    fits: (ours, theirs) => ours.status === 200 && /reference: default$/i.test(text(theirs)),
  },
  {
    why: 'no sizes are a list of none',
    fits: (ours, theirs) => onlyDiffer(ours, theirs, /^data\.allowed_user_key_lengths\.\w+$/) && theirs.status === 200,
  },
  { why: 'a field that is null is absent', fits: (_o, _t, { body }) => JSON.stringify(body ?? {}).includes(':null') },
  {
    why: 'unknown parameters are named also where nothing else is answered',
    fits: (ours, theirs) => ours.status === 200 && theirs.status === 204 && /unrecognized/.test(ours.warnings.join()),
  },
  {
    why: 'of several fields that cannot be converted another one is named',
    fits: (ours, theirs) => both(ours, theirs, /^error converting input for field/),
  },
  {
    why: 'what is wrong with a key',
    fits: (ours, theirs) =>
      both(
        ours,
        theirs,
        /^(failed to parse public_key as SSH key|could not parse (public|private)_key provided value): /,
      ),
  },
  {
    why: 'true in a map is 1, as in all maps',
    fits: (ours, theirs) => JSON.stringify(ours).replaceAll('"a":"1"', '"a":"true"') === JSON.stringify(theirs),
  },
  {
    why: 'which size is wrong',
    fits: (ours, theirs) => both(ours, theirs, /^error processing allowed_user_key_lengths: /),
  },
  {
    why: 'a role is listed once',
    fits: (ours, theirs, { path }) => path === 'lookup' && new Set(rolesIn(theirs)).size === rolesIn(ours).length,
  },
  {
    why: 'roles of one-time passwords refer to no issuer',
    fits: (_ours, theirs, { path }) => path.startsWith('issuer/') && / roles reference ''/.test(theirs.warnings.join()),
  },
  {
    why: 'a redirect has no page',
    fits: (ours, theirs) => ours.status === 307 && theirs.status === 307,
  },
  {
    why: 'the address that is wrong is named',
    fits: (ours, theirs) => both(ours, theirs, /^Invalid IP "/, /^Invalid IP "<nil>"$/),
  },
  {
    why: 'which key an algorithm needs',
    fits: (ours, theirs) => both(ours, theirs, /^algorithm_signer rsa/, /unsupported signature algorithm/),
  },
  {
    why: 'a role may allow types of keys that are made by any of their names',
    fits: (ours, theirs, { path, body }) =>
      path.startsWith('issue/') &&
      body?.key_type === 'ec' &&
      /^provided key_type/.test(text(theirs)) &&
      ours.status <= 400,
  },
];

describeComparison({
  type: 'ssh',
  requests: 600,
  longRequests: 15_000,
  perRun: 60,
  runOf,
  kept: ['issuer_id', 'key'],
  plain,
  differences,
  often: {
    oneIn: 200,
    of: ['POST roles 2xx', 'POST sign 2xx', 'POST creds 2xx', 'POST verify 2xx', 'POST sign 4xx'],
  },
});
