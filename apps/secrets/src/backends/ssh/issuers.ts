import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { bool, int, notRedirectable, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty, keys, raw } from '../../sdk/reply';
import {
  addIssuer,
  changeCa,
  checkedName,
  findCa,
  folded,
  issuerRef,
  requireIssuer,
  type SshIssuer,
  withoutIssuer,
} from './ca';
import { makeKey, readPrivateKey } from './key-pair';
import { lineOf, publicLine, readPublicKey } from './public-key';
import { countReferences } from './role';

const NewIssuer = z.object({
  generate_signing_key: bool().optional().describe('Generate the key in the service. Default if no key is sent.'),
  key_type: string()
    .optional()
    .describe('Type of a generated key: ssh-rsa (or rsa), ec, ecdsa-sha2-nistp256, -384 or -521, ssh-ed25519.'),
  key_bits: int().optional().describe('Size of a generated key. Default: 4096 for rsa, 256 for ec.'),
  private_key: notRedirectable(secretString())
    .optional()
    .describe('A private key to import, in PEM or OpenSSH format.'),
  public_key: string().optional().describe('Public key of private_key, in OpenSSH format.'),
});
const FurtherIssuer = NewIssuer.extend({
  set_default: bool().optional().describe('Make the new issuer the default issuer.'),
});
const issuerOutput = z.object({ issuer_id: z.string(), issuer_name: z.string(), public_key: z.string() });

/** The requested key, generated or imported. Throws `invalid` if public and private key do not match. */
async function askedKey(input: z.output<typeof NewIssuer>) {
  const { generate_signing_key: generate, private_key: own = '', public_key: line = '' } = input;
  if (generate && (own !== '' || line !== '')) {
    refuse('public_key and private_key must not be set when generate_signing_key is set to true');
  }
  if (own === '' && line === '') {
    if (generate === false) refuse('missing public_key');
    return makeKey(input.key_type ?? 'ssh-rsa', input.key_bits ?? 0);
  }
  if (own === '' || line === '') {
    refuse(
      'only one of public_key and private_key set; both must be set to use, or both must be blank to auto-generate',
    );
  }
  const { type, blob } = readPublicKey(line, 'could not parse public_key provided value');
  const key = readPrivateKey(own);
  if (publicLine(key) !== lineOf(type, blob)) refuse('public_key does not belong to private_key');
  return key;
}

async function keepAsked(
  call: Pick<Call, 'storage' | 'warn'>,
  input: z.output<typeof NewIssuer>,
  name: string | undefined,
  isDefault: boolean,
) {
  const key = await askedKey(input);
  const issuer_name = name === undefined ? '' : checkedName(name);
  const { issuer, existed } = await addIssuer(call.storage, key, issuer_name, isDefault);
  if (existed) call.warn('An issuer with the provided public key already exists, returning the existing issuer');
  return data({ ...issuer });
}

/** Warns of roles that refer to an issuer that is renamed or deleted. */
async function warnOfRoles({ storage, warn }: Pick<Call, 'storage' | 'warn'>, refs: readonly string[]): Promise<void> {
  const counts = await countReferences(storage);
  for (const ref of refs) {
    const count = counts.get(ref);
    if (count) warn(`${count} roles reference '${ref}'`);
  }
}

const plain = { media: ['text/plain'] } as const;
const defaultOutput = z.object({ default: z.string() });

/** Create, list, read, change and delete issuers. */
export const issuerPaths = [
  path('config/ca', {
    summary: 'The default issuer. Hosts and clients trust its public key.',
    read: {
      summary: 'Read the default issuer.',
      operationId: 'read-default-ca',
      output: issuerOutput,
      run: async ({ storage }) => data({ ...requireIssuer(await findCa(storage), 'default') }),
    },
    write: {
      summary: 'Create or import an issuer and make it the default. The previous one keeps its ID.',
      operationId: 'configure-default-ca',
      stepUp: true,
      input: NewIssuer,
      output: issuerOutput,
      run: (call) => keepAsked(call, call.input, undefined, true),
    },
    delete: {
      summary: 'Permanently delete all issuers and their keys.',
      operationId: 'purge-ca',
      stepUp: true,
      async run({ storage, warn }) {
        let deleted = 0;
        await changeCa(storage, (ca, tx) => {
          const ids = Object.keys(ca.issuers);
          deleted = ids.length;
          return ids.reduce((remaining, id) => withoutIssuer(remaining, tx, id), ca);
        });
        if (deleted > 0) warn(`Deleted ${deleted} issuers, including default issuer if configured.`);
        return empty;
      },
    },
  }),
  path('issuers/import', {
    summary: 'Additional issuers.',
    write: {
      summary: 'Create or import an additional issuer.',
      operationId: 'submit-issuer',
      stepUp: true,
      input: FurtherIssuer.extend({ issuer_name: string().optional().describe('Name of the issuer.') }),
      output: issuerOutput,
      run: (call) => keepAsked(call, call.input, call.input.issuer_name, call.input.set_default ?? false),
    },
  }),
  path('issuers/import/:issuer_name', {
    summary: 'An additional issuer with a name.',
    write: {
      summary: 'Create or import an additional issuer with this name.',
      operationId: 'submit-named-issuer',
      stepUp: true,
      input: FurtherIssuer,
      output: issuerOutput,
      run: (call) => keepAsked(call, call.input, call.params.issuer_name, call.input.set_default ?? false),
    },
  }),
  path('issuers', {
    summary: 'The issuers of this mount.',
    list: {
      summary: 'List the IDs of the issuers.',
      operationId: 'list-issuers',
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ storage }) {
        const { issuers, default_issuer } = await findCa(storage);
        const ids = Object.keys(issuers).sort();
        const info = ids.map((id) => {
          const { issuer_name, public_key } = issuers[id]!;
          return [id, { issuer_name, public_key, is_default: id === default_issuer }] as const;
        });
        return keys(ids, Object.fromEntries(info));
      },
    },
  }),
  path('issuer/:issuer_ref', {
    summary: 'An issuer by ID or name, or the default issuer.',
    paramDocs: { issuer_ref: 'Id or name of the issuer, or default.' },
    read: {
      summary: 'Read an issuer.',
      operationId: 'read-issuer',
      output: issuerOutput,
      run: async ({ params, storage }) => data({ ...requireIssuer(await findCa(storage), folded(params.issuer_ref)) }),
    },
    write: {
      summary: 'Rename an issuer, or remove its name.',
      operationId: 'update-issuer',
      input: z.object({
        issuer_name: string().optional().describe('Name of the issuer. If omitted, the name is removed.'),
      }),
      output: issuerOutput,
      async run(call) {
        const { input, params, storage } = call;
        const issuer_name = input.issuer_name === undefined ? '' : checkedName(input.issuer_name);
        let before: SshIssuer | undefined;
        const { issuers } = await changeCa(storage, (ca) => {
          before = requireIssuer(ca, folded(params.issuer_ref));
          const other = issuerRef(ca, issuer_name);
          if (other && other.issuer_id !== before.issuer_id) refuse('issuer name already in use');
          return { ...ca, issuers: { ...ca.issuers, [before.issuer_id]: { ...before, issuer_name } } };
        });
        if (before!.issuer_name !== issuer_name) await warnOfRoles(call, [before!.issuer_name]);
        return data({ ...issuers[before!.issuer_id]! });
      },
    },
    delete: {
      summary: 'Permanently delete an issuer and its key. Its certificates stay valid where its public key is trusted.',
      operationId: 'delete-issuer',
      stepUp: true,
      async run(call) {
        const { params, storage, warn } = call;
        let deleted: SshIssuer | undefined;
        let wasDefault = false;
        await changeCa(storage, (ca, tx) => {
          deleted = issuerRef(ca, folded(params.issuer_ref));
          wasDefault = deleted?.issuer_id === ca.default_issuer;
          return deleted ? withoutIssuer(ca, tx, deleted.issuer_id) : ca;
        });
        if (!deleted) return empty;
        await warnOfRoles(call, [deleted.issuer_name, deleted.issuer_id, ...(wasDefault ? ['default'] : [])]);
        if (wasDefault) {
          warn(
            `Deleted issuer ${deleted.issuer_id} (via issuer_ref ${folded(params.issuer_ref)}); this was configured as the default issuer. Operations without an explicit issuer will not work until a new default is configured.`,
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
      output: defaultOutput,
      run: async ({ storage }) => data({ default: requireIssuer(await findCa(storage), 'default').issuer_id }),
    },
    write: {
      summary: 'Make another issuer the default.',
      operationId: 'write-issuers-configuration',
      input: z.object({ default: string().optional().describe('ID or name of the issuer.') }),
      output: defaultOutput,
      async run({ input, storage, warn }) {
        const ref = folded(input.default ?? 'default');
        if (ref === '' || ref === 'default') {
          refuse("invalid issuer specification; must be non-empty and can't be 'default'.");
        }
        let before = '';
        const { default_issuer: id } = await changeCa(storage, (ca) => {
          before = ca.default_issuer;
          const issuer =
            issuerRef(ca, ref) ??
            refuse(`error resolving issuer reference: unable to find issuer for reference: ${ref}`);
          return issuer.issuer_id === before ? ca : { ...ca, default_issuer: issuer.issuer_id };
        });
        if (id === before) {
          warn('The default issuer is already set to the specified issuer.');
          return empty;
        }
        if (before !== '') {
          const resolved = id === ref ? '' : ` (resolved to ${id})`;
          warn(`Previous default (${before}) has been updated with the issuer '${ref}'${resolved}`);
        }
        return data({ default: id });
      },
    },
  }),
  path('issuer/:issuer_ref/public_key', {
    summary: 'The public key of an issuer, for hosts.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public key of an issuer, in OpenSSH format.',
      operationId: 'read-issuer-public-key',
      ...plain,
      judges: 'nothing',
      run: async ({ params, storage }) =>
        raw(requireIssuer(await findCa(storage), folded(params.issuer_ref)).public_key),
    },
  }),
  path('public_key', {
    summary: 'The public key of the default issuer, for hosts.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public key of the default issuer, in OpenSSH format.',
      operationId: 'read-public-key',
      ...plain,
      judges: 'nothing',
      run: async ({ storage }) => raw(requireIssuer(await findCa(storage), 'default').public_key),
    },
  }),
  path('public_keys', {
    summary: 'The public keys of all issuers. Hosts should trust both old and new ones during a change.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public keys of all issuers, one per line, beginning with the default issuer.',
      operationId: 'read-public-keys',
      ...plain,
      judges: 'nothing',
      async run({ storage }) {
        const { issuers, default_issuer: first } = await findCa(storage);
        const all = Object.values(issuers).sort(
          (one, other) => Number(other.issuer_id === first) - Number(one.issuer_id === first),
        );
        return raw(all.map(({ public_key }) => public_key).join(''));
      },
    },
  }),
];
