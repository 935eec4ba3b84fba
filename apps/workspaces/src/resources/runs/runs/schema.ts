import { bare, document, one, type ParsedDocument, requiredOne } from '@keystead/jsonapi';
import { valid } from 'semver';
import { z } from 'zod';

// Addresses become arguments of the tool.
const address = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^-\s\p{Cc}][^\p{Cc}]*$/u, 'must be resource addresses');
const addresses = z.array(address).max(200).nullish();

/** Values of variables for one run: expressions of the configuration language. */
export const runVariables = z
  .array(
    z.object({
      key: z
        .string()
        .max(255)
        .regex(/^[\p{L}_][\p{L}\p{N}_-]*$/u, 'must be names of variables'),
      value: z.string().max(262_144),
    }),
  )
  .max(1000)
  .nullish();

/** Versions of registry modules that a plan tries instead of those in its configuration. */
const moduleVersions = z
  .array(
    z.object({
      source: z
        .string()
        .max(512)
        .regex(
          /^[a-zA-Z0-9.-]+(:\d{1,5})?(\/[a-zA-Z0-9_-]+){3}$/,
          'must be addresses such as example.com/acme/network/aws',
        ),
      version: z
        .string()
        .max(128)
        .refine((one) => valid(one) === one, 'must be versions such as 1.2.0'),
    }),
  )
  .max(20);

/** A new run. */
export const CreateRun = document('runs', {
  attributes: {
    message: z.string().max(10_000).nullish(),
    'auto-apply': z.boolean().nullish(),
    'allow-config-generation': z.boolean().nullish(),
    'allow-empty-apply': z.boolean().nullish(),
    'debugging-mode': z.boolean().nullish(),
    'is-destroy': z.boolean().nullish(),
    'plan-only': z.boolean().nullish(),
    refresh: z.boolean().nullish(),
    'refresh-only': z.boolean().nullish(),
    'replace-addrs': addresses,
    'save-plan': z.boolean().nullish(),
    'target-addrs': addresses,
    'infra-version': z.string().max(100).nullish(),
    'module-versions': moduleVersions.nullish(),
    variables: runVariables,
  },
  aliases: { 'infra-version': 'terraform-version' },
  unserved: {
    'policy-paths': 'local policies are not evaluated',
    'invoke-action-addrs': 'actions are not invoked here',
  },
  relationships: { workspace: requiredOne('workspaces'), 'configuration-version': one('configuration-versions') },
});

/** The comment of an action: `{"comment":"…"}`, the same as attributes of a document, or no body. */
export const Remark = bare({
  comment: z.string().trim().max(10_000).nullish().describe('A comment.'),
});
/** The comment of an action. An empty comment is treated as absent. */
export type Remarked = ParsedDocument<typeof Remark>;
