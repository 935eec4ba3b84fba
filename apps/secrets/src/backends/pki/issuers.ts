import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { announced, bool, commaList, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { certificatePem } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data, empty, keys } from '../../sdk/reply';
import { algorithmNamed } from '../../sdk/signature-algorithm';
import {
  type Ca,
  certificateOf,
  changeCa,
  checkedName,
  findCa,
  type Issuer,
  issuerRef,
  noIssuer,
  requireIssuer,
  type Usage,
  usages,
} from './ca';
import { maySignLists } from './certificate';
import { chainOf } from './chain';
import { checkUrls, urlRows } from './url-set';
import { warnOfTemplates } from './urls';

const pemOfIssuer = (issuer: Issuer): string => certificatePem(Buffer.from(issuer.certificate, 'base64'));

const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** An issuer in the form of responses. */
export function showIssuer(ca: Ca, issuer: Issuer) {
  const { revokedAtMs, certificate, ...shown } = issuer;
  return {
    ...shown,
    certificate: pemOfIssuer(issuer),
    ca_chain: chainOf(ca, issuer).map(pemOfIssuer),
    manual_chain: issuer.manual_chain.length > 0 ? issuer.manual_chain : null,
    usage: [...issuer.usage].sort().join(','),
    revoked: revokedAtMs !== undefined,
    ...(revokedAtMs !== undefined && {
      revocation_time: Math.floor(revokedAtMs / 1000),
      revocation_time_rfc3339: rfc3339(revokedAtMs),
    }),
  };
}

const urlsShown = z.array(z.string());

/** Schema of an issuer in responses. */
export const issuerOutput = z.object({
  issuer_id: z.string(),
  issuer_name: z.string(),
  key_id: z.string(),
  certificate: z.string(),
  ca_chain: z.array(z.string()),
  manual_chain: z.array(z.string()).nullable(),
  leaf_not_after_behavior: z.string(),
  usage: z.string(),
  revocation_signature_algorithm: z.string(),
  revoked: z.boolean(),
  revocation_time: z.int().optional(),
  revocation_time_rfc3339: z.string().optional(),
  issuing_certificates: urlsShown,
  crl_distribution_points: urlsShown,
  delta_crl_distribution_points: urlsShown,
  ocsp_servers: urlsShown,
  enable_aia_url_templating: z.boolean(),
});

const behaviors = ['err', 'truncate', 'permit'];
const urlField = (name: keyof typeof urlRows) => urlRows[name][0].optional();

const IssuerInput = z.object({
  issuer_name: string().optional().describe('Name of the issuer.'),
  manual_chain: commaList()
    .optional()
    .describe(
      'References of the issuers in its chain, beginning with itself. Empty: the chain is built automatically.',
    ),
  leaf_not_after_behavior: announced(string(), { default: 'err', enum: behaviors })
    .optional()
    .describe(
      'For certificates that would outlive the issuer. err: refuse them. truncate: shorten them. permit: issue them.',
    ),
  usage: commaList().optional().describe('The permitted uses of the issuer.'),
  revocation_signature_algorithm: string()
    .optional()
    .describe('Signature algorithm of its CRLs. Default: that of its key.'),
  issuing_certificates: urlField('issuing_certificates'),
  crl_distribution_points: urlField('crl_distribution_points'),
  delta_crl_distribution_points: urlField('delta_crl_distribution_points'),
  ocsp_servers: urlField('ocsp_servers'),
  enable_aia_url_templating: bool().optional().describe('Replace templates in its URLs.'),
});
type IssuerInput = z.output<typeof IssuerInput>;

/** The issuer with the fields of the request; others keep their values. Throws `invalid`. */
function changed(ca: Ca, issuer: Issuer, input: IssuerInput): Issuer {
  const { usage, manual_chain: chain, ...plain } = input;
  const changes = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  const name = checkedName(input.issuer_name ?? issuer.issuer_name, 'issuer');
  const existing = name === '' ? undefined : issuerRef(ca, name);
  if (existing && existing.issuer_id !== issuer.issuer_id) refuse('issuer name already in use');
  const after: Issuer = {
    ...issuer,
    ...changes,
    issuer_name: name,
    manual_chain: chain ? chainIds(ca, issuer, chain) : issuer.manual_chain,
    usage: usage ? checkedUsages(issuer, usage) : issuer.usage,
  };
  if (!behaviors.includes(after.leaf_not_after_behavior)) {
    refuse('Unknown value for field `leaf_not_after_behavior`. Possible values are `err`, `truncate`, and `permit`.');
  }
  checkUrls(after, after.enable_aia_url_templating);
  return { ...after, revocation_signature_algorithm: checkedAlgorithm(issuer, after.revocation_signature_algorithm) };
}

function checkedAlgorithm(issuer: Issuer, name: string): string {
  if (name === '') return '';
  const algorithm = algorithmNamed(name);
  const type = certificateOf(issuer).publicKey.asymmetricKeyType;
  if (algorithm.keyType !== type) refuse(`unable to use issuer of type ${type} to sign with ${algorithm.name}`);
  return algorithm.name;
}

function checkedUsages(issuer: Issuer, requested: readonly string[]): readonly Usage[] {
  const isUsage = (text: string): text is Usage => (usages as readonly string[]).includes(text);
  if (!requested.every(isUsage)) {
    refuse(`Unable to parse specified usages: [${requested.join(' ')}] - valid values are ${usages.join(',')}`);
  }
  const after = new Set<Usage>(['read-only', ...(requested as Usage[])]);
  if (issuer.revokedAtMs !== undefined && after.has('issuing-certificates')) {
    refuse(
      'This issuer was revoked; unable to modify its usage to include certificate signing again. Reissue this certificate (preferably with a new key) and modify that entry instead.',
    );
  }
  if (after.has('crl-signing') && !issuer.usage.includes('crl-signing') && !maySignLists(certificateOf(issuer))) {
    refuse(
      "This issuer's underlying certificate lacks the CRLSign KeyUsage value; unable to set CRLSigningUsage on this issuer as a result.",
    );
  }
  return usages.filter((usage) => after.has(usage));
}

function chainIds(ca: Ca, issuer: Issuer, refs: readonly string[]): readonly string[] {
  const ids = refs.map((ref, at) => (at === 0 && ref === 'self' ? issuer.issuer_id : requireIssuer(ca, ref).issuer_id));
  if (ids.length > 0 && ids[0] !== issuer.issuer_id) {
    refuse(`expected first cert in chain to be a self-reference, but was: ${refs[0]}/${ids[0]}`);
  }
  return ids;
}

/** The values to which POST resets omitted fields. */
const initial = {
  manual_chain: [] as string[],
  leaf_not_after_behavior: 'err',
  usage: [...usages] as string[],
  revocation_signature_algorithm: '',
  issuing_certificates: [] as string[],
  crl_distribution_points: [] as string[],
  delta_crl_distribution_points: [] as string[],
  ocsp_servers: [] as string[],
  enable_aia_url_templating: false,
};

type ChangingCall = Pick<Call, 'storage'> & { warn(text: string): void };

async function changeIssuer({ storage, warn }: ChangingCall, ref: string, input: IssuerInput) {
  let id = '';
  const ca = await changeCa(storage, (before) => {
    const issuer = requireIssuer(before, ref);
    id = issuer.issuer_id;
    return { ...before, issuers: { ...before.issuers, [id]: changed(before, issuer, input) } };
  });
  const issuer = ca.issuers[id]!;
  await warnOfTemplates(storage, issuer, issuer.enable_aia_url_templating, id, warn);
  return data(showIssuer(ca, issuer));
}

/** List, read and change issuers. */
export const issuerPaths = [
  path('issuers', {
    summary: 'The issuers of this mount.',
    auth: 'none',
    list: {
      summary: 'List the IDs of the issuers.',
      operationId: 'list-issuers',
      judges: 'nothing',
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ storage }) {
        const ca = await findCa(storage);
        const info = Object.values(ca.issuers).map((issuer) => [
          issuer.issuer_id,
          {
            issuer_name: issuer.issuer_name,
            key_id: issuer.key_id,
            serial_number: certificateOf(issuer).serial,
            is_default: issuer.issuer_id === ca.default_issuer,
          },
        ]);
        return keys(Object.keys(ca.issuers).sort(), Object.fromEntries(info));
      },
    },
  }),
  path('issuer/:ref', {
    summary: 'An issuer by ID or name, or the default issuer.',
    read: {
      summary: 'Read an issuer.',
      operationId: 'read-issuer',
      output: issuerOutput,
      async run({ params, storage }) {
        const ca = await findCa(storage);
        return data(showIssuer(ca, requireIssuer(ca, params.ref)));
      },
    },
    write: {
      summary: 'Change an issuer. Omitted fields are reset to their defaults.',
      operationId: 'write-issuer',
      input: IssuerInput,
      output: issuerOutput,
      run: (call) => {
        const { input, params } = call;
        const fields = Object.entries(input).filter(([, value]) => value !== undefined);
        return changeIssuer(call, params.ref, { ...initial, issuer_name: '', ...Object.fromEntries(fields) });
      },
    },
    patch: {
      summary: 'Change some fields of an issuer; omitted fields keep their values.',
      operationId: 'patch-issuer',
      input: IssuerInput,
      output: issuerOutput,
      run: (call) => changeIssuer(call, call.params.ref, call.input),
    },
    delete: {
      summary: 'Delete an issuer. Its key is kept.',
      operationId: 'delete-issuer',
      stepUp: true,
      async run({ params, storage, warn }) {
        let wasDefault = false;
        let id = '';
        await changeCa(storage, (ca) => {
          const issuer = issuerRef(ca, params.ref);
          if (!issuer) return ca;
          id = issuer.issuer_id;
          const { [id]: _gone, ...issuers } = ca.issuers;
          wasDefault = id === ca.default_issuer;
          return { ...ca, issuers, default_issuer: wasDefault ? '' : ca.default_issuer };
        });
        if (wasDefault) {
          warn(
            `Deleted issuer ${id} (via issuer_ref ${params.ref}); this was configured as the default issuer. Operations without an explicit issuer will not work until a new default is configured.`,
          );
        }
        return empty;
      },
    },
  }),
  path('config/issuers', {
    summary: 'The default issuer.',
    read: {
      summary: 'Read which issuer is the default.',
      operationId: 'read-issuers-configuration',
      output: z.object({ default: z.string(), default_follows_latest_issuer: z.boolean() }),
      run: async ({ storage }) => data(showDefault(await findCa(storage))),
    },
    write: {
      summary: 'Set the default issuer.',
      operationId: 'configure-issuers',
      input: z.object({
        default: string().optional().describe('Reference of the issuer.'),
        default_follows_latest_issuer: bool().optional().describe('Make each new issuer that has a key the default.'),
      }),
      output: z.object({ default: z.string(), default_follows_latest_issuer: z.boolean() }),
      run: ({ input, storage }) => setDefault(storage, input.default, input.default_follows_latest_issuer),
    },
  }),
  path('root/replace', {
    summary: 'Replaces the default issuer.',
    write: {
      summary: 'Make another issuer the default.',
      operationId: 'replace-root',
      input: z.object({ default: string().optional().describe('Reference of the issuer; next by default.') }),
      output: z.object({ default: z.string(), default_follows_latest_issuer: z.boolean() }),
      run: ({ input, storage }) => setDefault(storage, input.default ?? 'next', undefined),
    },
  }),
];

const showDefault = (ca: Ca) => ({
  default: ca.default_issuer,
  default_follows_latest_issuer: ca.default_follows_latest_issuer,
});

const resolved = (ca: Ca, ref: string): Issuer =>
  issuerRef(ca, ref) ?? refuse(`Error resolving issuer reference: ${noIssuer(ref)}`);

async function setDefault(
  storage: Parameters<typeof changeCa>[0],
  ref: string | undefined,
  follows: boolean | undefined,
) {
  if (ref === '' || ref === 'default' || (ref === undefined && follows === undefined)) {
    refuse("Invalid issuer specification; must be non-empty and can't be 'default'.");
  }
  const ca = await changeCa(storage, (before) => ({
    ...before,
    default_issuer: ref === undefined ? before.default_issuer : resolved(before, ref).issuer_id,
    default_follows_latest_issuer: follows ?? before.default_follows_latest_issuer,
  }));
  return data(showDefault(ca));
}
