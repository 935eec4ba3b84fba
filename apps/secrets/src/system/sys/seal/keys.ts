import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { RootAttempt, RootGeneration } from '../../../kernel/seal/generate-root';
import type { Rotation } from '../../../kernel/seal/rotation';
import { secretString, string } from '../../../sdk/fields';
import { operation, type Path, path } from '../../../sdk/path';
import { data, empty, raw } from '../../../sdk/reply';

/** `sys/rotate`, `sys/key-status`, `sys/generate-root` and `sys/generate-root-token`. */
export function keyPaths(rotation: Rotation, root: RootGeneration): Path[] {
  const rotate = (id: string) =>
    operation({
      summary: 'Rotate the encryption key. Stored values are re-encrypted in the background.',
      operationId: id,
      async run() {
        await rotation.rotate();
        return empty;
      },
    });
  return [
    path('rotate', {
      summary: 'Rotates the encryption key.',
      sudo: true,
      rootNamespaceOnly: true,
      write: rotate('encryption-key-rotate'),
    }),
    path('rotate/keyring', {
      summary: 'Rotates the encryption key.',
      sudo: true,
      rootNamespaceOnly: true,
      write: rotate('rotate-keyring'),
    }),
    path('rotate/progress', {
      summary: 'The progress of re-encryption after a rotation.',
      sudo: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the progress of the last re-encryption.',
        operationId: 'rotate-read-progress',
        auditClear: 'all',
        output: z.object({
          running: z.boolean(),
          values: z.int().describe('Number of values that have been encrypted again.'),
          failures: z.int(),
          start_time: z.string().optional(),
          last_update_time: z.string().optional(),
        }),
        async run() {
          const job = await rotation.progress();
          if (!job) return data({ running: false, values: 0, failures: 0 });
          return data({
            running: job.running,
            values: job.done,
            failures: job.failures,
            start_time: new Date(job.startedAtMs).toISOString(),
            last_update_time: new Date(job.updatedAtMs).toISOString(),
          });
        },
      },
    }),
    path('key-status', {
      summary: 'The encryption key.',
      responseFormat: 'injected',
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the status of the encryption key.',
        operationId: 'encryption-key-status',
        auditClear: 'all',
        output: z.object({ term: z.int(), install_time: z.string(), encryptions: z.int() }),
        async run() {
          const { term, installedAtMs, encryptions } = await rotation.keyStatus();
          return data({ encryptions, install_time: new Date(installedAtMs).toISOString(), term });
        },
      },
    }),
    ...rootPaths(root, 'generate-root', 'open'),
    ...rootPaths(root, 'generate-root-token', 'known'),
  ];
}

/**
 * Generating a root token. The older path is for anyone with shares; the path of newer clients also needs a token with
 * policies. Both paths control the same attempt.
 */
function rootPaths(root: RootGeneration, place: 'generate-root' | 'generate-root-token', to: 'open' | 'known'): Path[] {
  const open = to === 'open';
  const common = {
    auth: open ? 'none' : 'token',
    responseFormat: open ? 'raw' : 'standard',
    rootNamespaceOnly: true,
  } as const;
  const id = open ? 'root-token-generation' : 'known-root-token-generation';
  const answer = (facts: RootAttempt) => (open ? raw(rootBody(facts)) : data(rootBody(facts)));
  const judged = open ? ({ judges: 'unguessable' } as const) : {};
  return [
    path(`${place}/attempt`, {
      summary: 'The generation of a root token.',
      ...common,
      read: {
        summary: 'Read the status of the root token generation.',
        operationId: `${id}-read-progress`,
        output: rootOutput,
        run: async () => answer(await root.status()),
      },
      write: {
        summary: 'Start generating a root token. The one-time password in the response is shown once.',
        operationId: `${id}-initialize`,
        stepUp: true,
        ...(open ? { decodedInto: 'GenerateRootInitRequest' } : {}),
        ...judged,
        input: z.object({
          otp: string().optional().describe('A one-time password; the status shows its required length.'),
          pgp_key: string()
            .optional()
            .describe('OpenPGP public key that encrypts the root token, in base64. Used instead of otp.'),
          key: secretString()
            .optional()
            .describe(
              'An unseal key share. If sent, this attempt replaces a pending one; the share must still be entered.',
            ),
        }),
        output: rootOutput,
        run: async ({ input }) =>
          answer(
            await root.start({
              otp: input.otp || undefined,
              pgpKey: input.pgp_key || undefined,
              key: input.key || undefined,
            }),
          ),
      },
      delete: {
        summary: 'Cancel the generation, unless a share has been entered for this attempt.',
        operationId: `${id}-cancel`,
        async run() {
          await root.cancel();
          return empty;
        },
      },
    }),
    path(`${place}/update`, {
      summary: 'Enters key shares to generate a root token.',
      ...common,
      write: {
        summary: 'Enter one key share. The last one returns the encoded root token.',
        operationId: `${id}-update`,
        stepUp: true,
        ...(open ? { decodedInto: 'GenerateRootUpdateRequest' } : {}),
        ...judged,
        input: z.object({
          key: secretString().optional().describe('A key share, in hex or base64.'),
          nonce: string().optional().describe('The nonce of the attempt.'),
        }),
        output: rootOutput,
        async run({ input }) {
          if (!input.key) throw new Refusal('invalid', "'key' must be specified in request body as JSON");
          return answer(await root.update(input.key, input.nonce ?? ''));
        },
      },
    }),
  ];
}

const rootOutput = z.object({
  nonce: z.string(),
  started: z.boolean(),
  progress: z.int(),
  required: z.int(),
  complete: z.boolean(),
  encoded_token: z.string(),
  encoded_root_token: z.string(),
  pgp_fingerprint: z.string(),
  otp: z.string(),
  otp_length: z.int(),
});

function rootBody(facts: RootAttempt): Record<string, unknown> {
  return {
    nonce: facts.nonce,
    started: facts.started,
    progress: facts.progress,
    required: facts.required,
    complete: facts.complete,
    encoded_token: facts.encodedToken,
    encoded_root_token: facts.encodedToken,
    pgp_fingerprint: facts.pgpFingerprint,
    otp: facts.otp,
    otp_length: facts.otpLength,
  };
}
