import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Seal, SealStatus } from '../../../kernel/seal/seal';
import { anything, bool, int, secretString, string, stringList } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { empty, raw } from '../../../sdk/reply';
import type { Initialised, InitialiseRequest } from './initialise';

/** The status of this node. */
export interface NodeFacts {
  readonly version: string;
  readonly clusterName: string;
  /** The id is known only while the service is unsealed. */
  clusterId(): string | undefined;
  /** Set if this node is read-only, on a standby. */
  readonly standby: { readonly primaryUrl: string | undefined } | undefined;
}

/** Initialisation, sealing and health. These paths must work before there is a token. */
export function statusPaths(
  seal: Seal,
  initialise: (request: InitialiseRequest) => Promise<Initialised>,
  node: NodeFacts,
) {
  const statusBody = (facts: SealStatus) => {
    const clusterId = facts.sealed ? undefined : node.clusterId();
    return {
      type: facts.type,
      initialized: facts.initialised,
      sealed: facts.sealed,
      t: facts.threshold,
      n: facts.shares,
      progress: facts.progress,
      nonce: facts.nonce,
      recovery_seal: facts.recoverySeal,
      recovery_seal_type: facts.recoverySeal ? 'shamir' : undefined,
      version: node.version,
      commit_date: '',
      migration: false,
      cluster_name: clusterId && node.clusterName,
      cluster_id: clusterId,
      storage_type: 'postgresql',
    };
  };

  const init = operation({
    summary: 'Initialise the service.',
    operationId: 'initialize',
    input: initInput,
    judges: 'nothing',
    decodedInto: 'InitRequest',
    output: initOutput,
    async run({ input }) {
      const { recoverySeal, initialised } = await seal.status();
      if (initialised) throw new Refusal('invalid', 'Service is already initialized');
      const initialized = await initialise({
        shares: (recoverySeal ? (input.recovery_shares ?? input.secret_shares) : input.secret_shares) ?? 0,
        threshold: (recoverySeal ? (input.recovery_threshold ?? input.secret_threshold) : input.secret_threshold) ?? 0,
        pgpKeys: recoverySeal ? input.recovery_pgp_keys : input.pgp_keys,
        rootTokenPgpKey: input.root_token_pgp_key,
      });
      const hex = initialized.shares.map((share) => Buffer.from(share).toString('hex'));
      const base64 = initialized.shares.map((share) => Buffer.from(share).toString('base64'));
      return raw({
        keys: initialized.recovery ? [] : hex,
        keys_base64: initialized.recovery ? [] : base64,
        recovery_keys: initialized.recovery ? hex : undefined,
        recovery_keys_base64: initialized.recovery ? base64 : undefined,
        root_token: initialized.rootToken,
      });
    },
  });

  const unseal = operation({
    summary: 'Enter one key share.',
    operationId: 'unseal',
    judges: 'unguessable',
    input: z.object({
      key: secretString().optional().describe('A key share, in hex or base64.'),
      reset: bool().optional().describe('Discard the shares entered so far.'),
      migrate: bool().optional().describe('Seal migration is not supported: must be false.'),
    }),
    decodedInto: 'UnsealRequest',
    output: sealStatusOutput,
    async run({ input }) {
      if (input.migrate) throw new Refusal('invalid', "'migrate' is not supported: the type of seal cannot be changed");
      if (input.reset) return raw(statusBody(await seal.resetUnseal()));
      if (!input.key) {
        throw new Refusal('invalid', "'key' must be specified in request body as JSON, or 'reset' set to true");
      }
      return raw(statusBody(await seal.unseal(input.key)));
    },
  });

  return [
    path('init', {
      summary: 'Initialises the service, once.',
      auth: 'none',
      responseFormat: 'raw',
      whileSealed: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read whether the service is initialised.',
        operationId: 'read-initialization-status',
        output: z.object({ initialized: z.boolean() }),
        run: async () => raw({ initialized: (await seal.status()).initialised }),
      },
      write: init,
    }),
    path('seal-status', {
      summary: 'The seal status.',
      auth: 'none',
      responseFormat: 'raw',
      whileSealed: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the seal status.',
        operationId: 'seal-status',
        output: sealStatusOutput,
        run: async () => raw(statusBody(await seal.status())),
      },
    }),
    path('unseal', {
      summary: 'Unseals the service with key shares.',
      auth: 'none',
      responseFormat: 'raw',
      whileSealed: true,
      rootNamespaceOnly: true,
      write: unseal,
    }),
    path('seal', {
      summary: 'Seals the service on every node.',
      responseFormat: 'raw',
      sudo: true,
      rootNamespaceOnly: true,
      write: {
        summary: 'Seal the service.',
        operationId: 'seal',
        stepUp: true,
        dropsKeys: true,
        async run() {
          await seal.seal();
          return empty;
        },
      },
    }),
    path('health', {
      summary: 'Whether this node can serve requests.',
      auth: 'none',
      responseFormat: 'raw',
      whileSealed: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the health of this node.',
        operationId: 'read-health-status',
        // For load balancers.
        answersHead: true,
        input: healthInput,
        output: z.looseObject({ initialized: z.boolean(), sealed: z.boolean(), standby: z.boolean() }),
        responses: {
          429: 'standby',
          472: 'recovery mode replication',
          473: 'performance standby',
          501: 'not initialized',
          503: 'sealed',
        },
        async run({ input, nowMs }) {
          const { initialised, sealed } = await seal.status();
          const usable = initialised && !sealed;
          const clusterId = usable ? node.clusterId() : undefined;
          const body = {
            initialized: initialised,
            sealed,
            standby: !usable || node.standby !== undefined,
            performance_standby: node.standby && usable,
            replication_performance_mode: usable ? 'disabled' : 'unknown',
            replication_dr_mode: usable ? 'disabled' : 'unknown',
            server_time_utc: Math.floor(nowMs / 1000),
            version: node.version,
            cluster_name: clusterId && node.clusterName,
            cluster_id: clusterId,
          };
          if (!initialised) return raw(body, input.uninitcode ?? 501);
          if (sealed) return raw(body, input.sealedcode ?? 503);
          const asStandby = node.standby && input.perfstandbyok === undefined;
          return raw(body, asStandby ? (input.performancestandbycode ?? 473) : (input.activecode ?? 200));
        },
      },
    }),
    path('leader', {
      summary: 'The leader status. All nodes serve requests, so each names itself.',
      auth: 'none',
      responseFormat: 'raw',
      whileSealed: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the leader status.',
        operationId: 'leader-status',
        output: z.looseObject({ ha_enabled: z.boolean(), is_self: z.boolean() }),
        run: () =>
          raw({
            ha_enabled: node.standby !== undefined,
            is_self: node.standby === undefined,
            active_time: '0001-01-01T00:00:00Z',
            leader_address: node.standby?.primaryUrl ?? '',
            leader_cluster_address: '',
            performance_standby: node.standby !== undefined,
            performance_standby_last_remote_wal: 0,
          }),
      },
    }),
  ];
}

// Clients treat a status below 200 as interim, and would wait for another response.
const statusCode = () =>
  int().pipe(z.int().min(200).max(599)).optional().describe('Status to answer with in this state.');

const healthInput = z.object({
  standbyok: anything().optional().describe('Answer 200 on a standby.'),
  perfstandbyok: anything().optional().describe('Answer 200 on a performance standby.'),
  activecode: statusCode(),
  standbycode: statusCode(),
  drsecondarycode: statusCode(),
  performancestandbycode: statusCode(),
  sealedcode: statusCode(),
  uninitcode: statusCode(),
});

const initInput = z.object({
  secret_shares: int().optional().describe('Number of unseal key shares.'),
  secret_threshold: int().optional().describe('Number of shares needed to unseal.'),
  pgp_keys: stringList().optional().describe('OpenPGP public keys that encrypt the shares, in base64.'),
  root_token_pgp_key: string().optional().describe('OpenPGP public key that encrypts the root token, in base64.'),
  recovery_shares: int().optional().describe('Number of recovery key shares, if the service unseals itself.'),
  recovery_threshold: int().optional().describe('Number of recovery shares needed.'),
  recovery_pgp_keys: stringList()
    .optional()
    .describe('OpenPGP public keys that encrypt the recovery shares, in base64.'),
  stored_shares: int().optional().describe('Has no effect.'),
});

const initOutput = z.object({
  keys: z.array(z.string()),
  keys_base64: z.array(z.string()),
  recovery_keys: z.array(z.string()).optional(),
  recovery_keys_base64: z.array(z.string()).optional(),
  root_token: z.string(),
});

const sealStatusOutput = z.looseObject({
  type: z.string(),
  initialized: z.boolean(),
  sealed: z.boolean(),
  t: z.int(),
  n: z.int(),
  progress: z.int(),
  nonce: z.string(),
  version: z.string(),
});
