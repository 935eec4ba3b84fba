import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { operation, path } from '../../sdk/path';
import { pemParts } from '../../sdk/pem';
import { data, empty, type LongBody, type Reply, rawParts } from '../../sdk/reply';
import { findCa, issuerRef, requireIssuer } from './ca';
import { authorityOfIssuer, rotateLists } from './crl-build';
import { type CrlConfig, checkCrlConfig, crlConfig, crlFields, doneOutput, findCrlConfig } from './crl-config';
import { type CrlKind, findCrl } from './stored-crl';

const forms = {
  der: { media: ['application/pkix-crl'] },
  pem: { media: ['application/x-pem-file'] },
  json: { output: z.object({ crl: z.string() }) },
} as const;
type Form = keyof typeof forms;

/** Returns the CRL of an issuer, or of the default issuer if the request names none. */
async function showCrl(
  { storage }: Pick<Call, 'storage'>,
  ref: string | undefined,
  kind: CrlKind,
  form: Form,
): Promise<Reply> {
  const ca = await findCa(storage);
  const issuer = ref === undefined ? issuerRef(ca, 'default') : requireIssuer(ca, ref);
  const der = issuer && (await findCrl(storage, authorityOfIssuer(issuer), kind));
  if (!der) return empty;
  if (form === 'der') return rawParts(der);
  const pem = pemParts(der, 'X509 CRL');
  return form === 'pem' ? rawParts(pem) : data({ crl: await textOf(pem) });
}

async function textOf({ parts }: LongBody): Promise<string> {
  let text = '';
  for await (const part of parts()) text += part.toString();
  return text;
}

const kinds = [
  ['', 'complete'],
  ['/delta', 'delta'],
] as const;

const reading = (kind: CrlKind, form: Form) =>
  operation<{ readonly ref?: string }>({
    summary: kind === 'complete' ? 'Read the CRL.' : 'Read the delta CRL.',
    judges: 'nothing',
    mayBeEmpty: true,
    ...forms[form],
    run: (call) => showCrl(call, call.params.ref, kind, form),
  });

const open = { auth: 'none' } as const;
const rawAnswer = { auth: 'none', responseFormat: 'raw' } as const;

const listPaths = kinds.flatMap(([suffix, kind]) => {
  const [name, certName] = kind === 'complete' ? ['crl', 'crl'] : ['crl-delta', 'delta-crl'];
  const summary = kind === 'complete' ? 'Revoked certificates' : 'Certificates revoked since the complete list';
  return [
    path(`crl${suffix}`, {
      summary: `${summary} of the default issuer, as DER.`,
      ...rawAnswer,
      read: { ...reading(kind, 'der'), operationId: `read-${name}-der` },
    }),
    path(`crl${suffix}/pem`, {
      summary: `${summary} of the default issuer, as PEM.`,
      ...rawAnswer,
      read: { ...reading(kind, 'pem'), operationId: `read-${name}-pem` },
    }),
    path(`issuer/:ref/crl${suffix}`, {
      summary: `${summary} of an issuer.`,
      ...open,
      read: { ...reading(kind, 'json'), operationId: `issuer-read-${name}` },
    }),
    path(`issuer/:ref/crl${suffix}/der`, {
      summary: `${summary} of an issuer, as DER.`,
      ...rawAnswer,
      read: { ...reading(kind, 'der'), operationId: `issuer-read-${name}-der` },
    }),
    path(`issuer/:ref/crl${suffix}/pem`, {
      summary: `${summary} of an issuer, as PEM.`,
      ...rawAnswer,
      read: { ...reading(kind, 'pem'), operationId: `issuer-read-${name}-pem` },
    }),
    path(`cert/${certName}`, {
      summary: `${summary} of the default issuer.`,
      ...open,
      read: {
        summary: `${summary} of the default issuer.`,
        operationId: `read-cert-${certName}`,
        judges: 'nothing',
        mayBeEmpty: true,
        output: z.object({ certificate: z.string(), revocation_time: z.int(), revocation_time_rfc3339: z.string() }),
        async run({ storage }) {
          const issuer = requireIssuer(await findCa(storage), 'default');
          const der = await findCrl(storage, authorityOfIssuer(issuer), kind);
          if (!der) return empty;
          return data({
            certificate: await textOf(pemParts(der, 'X509 CRL')),
            revocation_time: 0,
            revocation_time_rfc3339: '',
          });
        },
      },
    }),
  ];
});

const rotating = (kind: CrlKind) =>
  operation({
    summary: kind === 'complete' ? 'Build the complete CRLs now.' : 'Build the delta CRLs now.',
    output: doneOutput,
    async run({ storage, nowMs, warn }) {
      if (kind === 'delta' && !(await findCrlConfig(storage)).enable_delta) {
        warn('requested rebuild of delta CRL when delta CRL is not enabled; this is a no-op');
      } else await rotateLists(storage, nowMs, kind);
      return data({ success: true });
    },
  });

const changesLists = (before: CrlConfig, after: CrlConfig): boolean =>
  before.disable !== after.disable ||
  (before.auto_rebuild && !after.auto_rebuild) ||
  before.enable_delta !== after.enable_delta;

/** CRLs and their settings. */
export const crlPaths = [
  ...listPaths,
  path('crl/rotate', {
    summary: 'Builds the CRLs.',
    read: { ...rotating('complete'), operationId: 'rotate-crl' },
    write: { ...rotating('complete'), operationId: 'rotate-crl-by-write' },
  }),
  path('crl/rotate-delta', {
    summary: 'Builds the delta CRLs.',
    read: { ...rotating('delta'), operationId: 'rotate-delta-crl' },
    write: { ...rotating('delta'), operationId: 'rotate-delta-crl-by-write' },
  }),
  path('config/crl', {
    summary: 'The CRL configuration.',
    stored: ({ storage }) => crlConfig.find(storage),
    read: {
      summary: 'Read the CRL configuration.',
      operationId: 'read-crl-configuration',
      output: crlFields.output,
      run: async ({ storage }) => data(await findCrlConfig(storage)),
    },
    write: {
      summary: 'Change the CRL configuration.',
      operationId: 'configure-crl',
      update: 'merge',
      once: true,
      defaults: crlFields.defaults,
      input: crlFields.input,
      output: crlFields.output,
      async run({ input, storage, nowMs }) {
        checkCrlConfig(input);
        let before = crlFields.defaults;
        await storage.transaction('config/crl', async (tx) => {
          before = await findCrlConfig(tx);
          crlConfig.put(tx, input);
        });
        if (changesLists(before, input)) await rotateLists(storage, nowMs, 'complete');
        return data(input);
      },
    },
  }),
];
