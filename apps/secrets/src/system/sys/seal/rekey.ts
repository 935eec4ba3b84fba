import { shareBounds } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Rekey, RekeyResult, RekeyStatus, VerifyStatus } from '../../../kernel/seal/rekey';
import { announced, bool, int, secretString, string, stringList } from '../../../sdk/fields';
import { operation, type Path, path } from '../../../sdk/path';
import { data, empty, type Reply, raw } from '../../../sdk/reply';

const spec = 'Recovery-key rekey';
const common = { spec, sudo: true, rootNamespaceOnly: true } as const;

/**
 * The rekey endpoints: `sys/rekey-recovery-key` and `sys/rekey` with bare bodies, `sys/rotate/recovery` and
 * `sys/rotate/root` the same with envelopes.
 * Spec: Recovery-key rekey.
 */
export function rekeyPaths(rekeys: { readonly recovery: Rekey; readonly barrier: Rekey }): Path[] {
  return [
    ...ceremonyPaths('rekey-recovery-key', rekeys.recovery, 'raw'),
    ...ceremonyPaths('rekey', rekeys.barrier, 'raw'),
    ...ceremonyPaths('rotate/recovery', rekeys.recovery, 'standard'),
    ...ceremonyPaths('rotate/root', rekeys.barrier, 'standard'),
    backupPath('rekey/recovery-key-backup', rekeys.recovery, ['rekey', 'backup-recovery-key']),
    backupPath('rekey-recovery-key/backup', rekeys.recovery, ['rekey-recovery-key', 'backup-key']),
    backupPath('rekey/backup', rekeys.barrier, ['rekey', 'backup-key']),
    backupPath('rotate/recovery/backup', rekeys.recovery, ['rotate-recovery', 'backup-key']),
    backupPath('rotate/root/backup', rekeys.barrier, ['rotate-root', 'backup-key']),
  ];
}

function ceremonyPaths(base: string, rekey: Rekey, responseFormat: 'raw' | 'standard'): Path[] {
  const id = (what: string) => `${base.replaceAll('/', '-')}-${what}`;
  const ofAttempt = (what: string) => id(base === 'rekey' ? `attempt-${what}` : what);
  const answer = (body: Record<string, unknown>): Reply => (responseFormat === 'raw' ? raw(body) : data(body));
  const decodedInto = (name: string) => (responseFormat === 'raw' ? name : undefined);
  const noKey = operation({
    summary: 'Answers as for a missing share.',
    operationId: id('read-update'),
    run: (): Reply => {
      throw missingKey();
    },
  });
  return [
    path(`${base}/init`, {
      ...common,
      responseFormat,
      summary: 'The replacement of key shares (rekey).',
      read: {
        summary: 'Read the status of the rekey.',
        operationId: ofAttempt('read-progress'),
        output: statusOutput,
        // Below sys/rotate, the status is returned for any kind of seal.
        run: async () => answer(statusBody(await (responseFormat === 'raw' ? rekey.status() : rekey.progress()))),
      },
      write: {
        summary: 'Start a rekey. Only one can be in progress.',
        operationId: ofAttempt('initialize'),
        stepUp: true,
        input: startInput,
        decodedInto: decodedInto('RekeyRequest'),
        output: statusOutput,
        async run({ input }) {
          const started = await rekey.start({
            shares: input.secret_shares ?? 0,
            threshold: input.secret_threshold ?? 0,
            pgpKeys: input.pgp_keys ?? [],
            backup: input.backup ?? false,
            requireVerification: input.require_verification ?? false,
          });
          return answer(statusBody(started));
        },
      },
      delete: {
        summary: 'Cancel the rekey. The current shares stay valid.',
        operationId: ofAttempt('cancel'),
        async run() {
          await rekey.cancel();
          return empty;
        },
      },
    }),
    path(`${base}/update`, {
      ...common,
      responseFormat,
      summary: 'Enters current key shares for a rekey.',
      read: noKey,
      write: {
        summary: 'Enter one current key share. The last one returns the new shares.',
        operationId: ofAttempt('update'),
        stepUp: true,
        input: shareInput,
        decodedInto: decodedInto('RekeyUpdateRequest'),
        output: z.union([outcomeOutput, statusOutput]),
        async run({ input }) {
          const result = await rekey.update(requireKey(input.key), input.nonce ?? '');
          return answer('keys' in result ? outcomeBody(result) : statusBody(result));
        },
      },
    }),
    path(`${base}/verify`, {
      ...common,
      responseFormat,
      summary: 'Verifies the new shares before they become valid.',
      read: {
        summary: 'Read the status of the verification.',
        operationId: id('verification-read-progress'),
        output: verifyOutput,
        run: async () => answer(verifyBody(await rekey.verifyStatus())),
      },
      write: {
        summary: 'Enter one of the new shares; the last one makes them valid.',
        operationId: id('verification-update'),
        stepUp: true,
        input: shareInput,
        decodedInto: decodedInto('RekeyVerificationUpdateRequest'),
        output: z.union([verifyOutput, z.object({ nonce: z.string(), complete: z.literal(true) })]),
        async run({ input }) {
          const result = await rekey.verify(requireKey(input.key), input.nonce ?? '');
          return answer('complete' in result ? { ...result } : verifyBody(result));
        },
      },
      delete: {
        summary: 'Discard the new shares entered so far.',
        operationId: id('verification-cancel'),
        output: verifyOutput,
        run: async () => answer(verifyBody(await rekey.restartVerify())),
      },
    }),
    path(`${base}/check`, {
      ...common,
      responseFormat,
      summary: 'Checks whether a share is still valid.',
      write: {
        summary: 'Check one current key share. Does not advance a rekey.',
        operationId: id('check-share'),
        input: z.object({ key: secretString().optional().describe('A key share, in hex or base64.') }),
        output: z.object({ valid: z.boolean(), t: z.int(), n: z.int() }),
        async run({ input }) {
          const { valid, threshold, shares } = await rekey.check(requireKey(input.key));
          return answer({ valid, t: threshold, n: shares });
        },
      },
    }),
  ];
}

function backupPath(at: string, rekey: Rekey, [of, key]: readonly [string, string]): Path {
  return path(at, {
    ...common,
    responseFormat: 'injected',
    summary: 'The encrypted shares that the last rekey backed up.',
    read: {
      summary: 'Read the backed-up shares by key fingerprint.',
      operationId: `${of}-read-${key}`,
      output: z.object({
        nonce: z.string(),
        keys: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
        keys_base64: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
      }),
      async run() {
        const backup = await rekey.findBackup();
        if (!backup) throw new Refusal('invalid', 'no backed-up keys found');
        return data({
          keys: byFingerprint(backup.keys, 'hex'),
          keys_base64: byFingerprint(backup.keys, 'base64'),
          nonce: backup.nonce,
        });
      },
    },
    delete: {
      summary: 'Delete the backed-up shares.',
      operationId: `${of}-delete-${key}`,
      async run() {
        await rekey.deleteBackup();
        return empty;
      },
    },
  });
}

const startInput = z.object({
  secret_shares: announced(int(), shareBounds).optional().describe('Number of new shares.'),
  secret_threshold: announced(int(), shareBounds)
    .optional()
    .describe('Number of shares needed to unseal; at most secret_shares.'),
  pgp_keys: stringList().optional().describe('OpenPGP public keys that encrypt the shares, in base64 and in order.'),
  backup: announced(bool(), { default: false }).optional().describe('Store a backup of the encrypted shares.'),
  require_verification: announced(bool(), { default: false })
    .optional()
    .describe('The new shares become valid only after they have been entered.'),
});
const shareInput = z.object({
  key: secretString().optional().describe('A key share, in hex or base64.'),
  nonce: string().optional().describe('The nonce of the rekey operation.'),
});
const statusOutput = z.object({
  nonce: z.string(),
  started: z.boolean(),
  t: z.int(),
  n: z.int(),
  progress: z.int(),
  required: z.int(),
  pgp_fingerprints: z.array(z.string()).nullable(),
  backup: z.boolean(),
  verification_required: z.boolean(),
  verification_nonce: z.string().optional(),
});
const outcomeOutput = z.object({
  nonce: z.string(),
  complete: z.literal(true),
  keys: z.array(z.string()),
  keys_base64: z.array(z.string()),
  pgp_fingerprints: z.array(z.string()).nullable(),
  backup: z.boolean(),
  verification_required: z.boolean(),
  verification_nonce: z.string().optional(),
});
const verifyOutput = z.object({
  nonce: z.string(),
  started: z.boolean(),
  t: z.int(),
  n: z.int(),
  progress: z.int(),
});

function statusBody(facts: RekeyStatus): Record<string, unknown> {
  return {
    nonce: facts.nonce,
    started: facts.started,
    t: facts.threshold,
    n: facts.shares,
    progress: facts.progress,
    required: facts.required,
    pgp_fingerprints: facts.pgpFingerprints,
    backup: facts.backup,
    verification_required: facts.verificationRequired,
    ...(facts.verificationNonce === undefined ? {} : { verification_nonce: facts.verificationNonce }),
  };
}

function outcomeBody(outcome: RekeyResult): Record<string, unknown> {
  return {
    nonce: outcome.nonce,
    complete: true,
    keys: outcome.keys.map((key) => text(key, 'hex')),
    keys_base64: outcome.keys.map((key) => text(key, 'base64')),
    pgp_fingerprints: outcome.pgpFingerprints,
    backup: outcome.backup,
    verification_required: outcome.verificationRequired,
    ...(outcome.verificationNonce === undefined ? {} : { verification_nonce: outcome.verificationNonce }),
  };
}

function verifyBody(facts: VerifyStatus): Record<string, unknown> {
  return {
    nonce: facts.nonce,
    started: facts.started,
    t: facts.threshold,
    n: facts.shares,
    progress: facts.progress,
  };
}

function byFingerprint(keys: ReadonlyMap<string, readonly Uint8Array[]>, encoding: 'hex' | 'base64') {
  const shown: Record<string, string | string[]> = {};
  for (const [fingerprint, messages] of keys) {
    const texts = messages.map((message) => text(message, encoding));
    shown[fingerprint] = texts.length === 1 ? texts[0]! : texts;
  }
  return shown;
}

const text = (bytes: Uint8Array, encoding: 'hex' | 'base64'): string => Buffer.from(bytes).toString(encoding);
const missingKey = (): Refusal => new Refusal('invalid', "'key' must be specified in request body as JSON");

function requireKey(key: string | undefined): string {
  if (!key) throw missingKey();
  return key;
}
