import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { commaList, oneOf, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { refuseFields } from './refused-fields';

const aliases = ['role_id', 'unique_id', 'canonical_arn', 'full_arn'] as const;
const facts = ['account_id', 'auth_type', 'canonical_arn', 'client_arn', 'client_user_id'] as const;
const usualFacts = ['account_id', 'auth_type'];

const Identity = z.object({
  iam_alias: oneOf(aliases, (alias) => `invalid iam_alias of ${JSON.stringify(alias)}`).describe(
    'The source of the name of the alias. role_id: all callers of a role share an entity. unique_id, canonical_arn and full_arn: each AWS identity has an entity.',
  ),
  iam_metadata: commaList().describe(`Metadata of the alias and the tokens: default, or some of ${facts.join(', ')}.`),
});
/** The identity of a login, as stored. */
export type AwsIdentity = z.output<typeof Identity>;
const identity = single('config/identity', Identity);
const none: AwsIdentity = { iam_alias: 'role_id', iam_metadata: usualFacts };

/** The current alias name and metadata settings. */
export const identityInForce = async (storage: Storage): Promise<AwsIdentity> => (await identity.find(storage)) ?? none;

/** Alias name and metadata settings. */
export const identityPath = path('config/identity', {
  summary: 'Names and metadata of callers’ aliases.',
  stored: ({ storage }) => identityInForce(storage),
  read: {
    operationId: 'read-identity-integration-configuration',
    summary: 'Read how aliases are named.',
    output: z.object({ iam_alias: z.string(), iam_metadata: z.array(z.string()), ec2_alias: z.string() }),
    // Logins of machines (EC2) are not built. Only `ec2_alias` is shown, because existing clients check it.
    run: async ({ storage }) => data({ ...(await identityInForce(storage)), ec2_alias: 'role_id' }),
  },
  write: {
    operationId: 'configure-identity-integration',
    summary: 'Set how aliases are named; omitted fields keep their values.',
    update: 'merge',
    defaults: { ...none, ec2_alias: '', ec2_metadata: [] },
    input: Identity.extend({
      ec2_alias: string().describe('For EC2 logins, which are not supported.'),
      ec2_metadata: commaList().describe('For EC2 logins, which are not supported.'),
    }),
    run({ input, storage }) {
      const { ec2_alias: alias, ec2_metadata: metadata, ...settings } = input;
      refuseFields({
        ec2_alias: alias === 'role_id' ? '' : alias,
        ec2_metadata: metadata.filter((name) => name !== 'default'),
      });
      const iam_metadata = settings.iam_metadata.flatMap((name) => (name === 'default' ? usualFacts : [name]));
      const unavailable = (name: string) =>
        `iam_metadata contains an unavailable field, please select from ${facts.join(', ')}: ${JSON.stringify(name)} is not known here`;
      const odd = iam_metadata.find((name) => !(facts as readonly string[]).includes(name));
      if (odd !== undefined) throw new Refusal('invalid', unavailable(odd));
      identity.put(storage, { ...settings, iam_metadata: [...new Set(iam_metadata)] });
      return empty;
    },
  },
});
