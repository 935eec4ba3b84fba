import {
  CreateAccessKeyCommand,
  DeleteAccessKeyCommand,
  GetUserCommand,
  type IAMClient,
  ListAccessKeysCommand,
} from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { BackgroundCall } from '../../sdk/call';
import { attempt, cloudRefusal, codeOf, isGone, wasRefused } from '../../sdk/cloud-error';
import { path } from '../../sdk/path';
import { data, listed } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo } from './cloud';
import { connection, type Root, root, rootTurn } from './config-root';
import { replan } from './root-plan';

type KeyPair = NonNullable<Root['pending']>;

const tryEveryMs = 500;
/** The longest time between the start of a rotation and the creation of its key, by the provider's clock. */
const rotationMs = 120_000;

/**
 * Rotates the root key: creates a new key, stores it as pending, tries it until the provider knows it, switches to it,
 * and only then deletes the old key. An intent covers everything, so that a rotation that stopped half-way is finished
 * or undone. Spec: Cloud-provider engine (Rotate root).
 */
export const rotateRootPath = (cloud: CloudTwo, tryForMs = 25_000) =>
  path('config/rotate-root', {
    summary: 'Replaces the root access key.',
    spec: 'Cloud-provider engine',
    write: {
      operationId: 'rotate-root-iam-credentials',
      summary: 'Create a new root key, start using it, and delete the old one.',
      output: z.object({ access_key: z.string() }),
      async run({ storage, nowMs, warn }) {
        const access_key = await rotateRoot(cloud, { storage, nowMs }, warn, tryForMs);
        const config = await root.require(storage);
        replan(storage, config, nowMs, nowMs);
        return data({ access_key });
      },
    },
  });

/** Performs the rotation and returns the id of the new key. Calls `warn` if the old key could not be deleted yet. */
export async function rotateRoot(
  cloud: CloudTwo,
  { storage, nowMs }: Pick<BackgroundCall, 'storage' | 'nowMs'>,
  warn: (text: string) => void = () => {},
  tryForMs = 25_000,
): Promise<string> {
  const before = await root.find(storage);
  if (!before) throw listed('invalid', 'no configuration found for config/root');
  if (before.credential_source !== 'static' || !before.access_key || !before.secret_key) {
    throw new Refusal('invalid', 'Cannot call config/rotate-root when either access_key or secret_key is empty');
  }
  const { iam, aheadMs } = cloud.of(connection(before));
  const { User } = await attempt('error calling GetUser', () => iam.send(new GetUserCommand({})));
  const userName = User?.UserName ?? '';
  const keysBefore = await keysThere(iam, userName);
  const ahead = aheadMs() ?? (keysBefore ? undefined : 0);
  const started = { known: keysBefore, at_ms: ahead === undefined ? undefined : nowMs + ahead };
  const intent = await storage.intent('root-key', { user: userName, before: before.access_key, ...started });
  const after = await makeKey(cloud, before, userName).catch(async (error) => {
    if (wasRefused(error)) await intent.drop();
    throw error;
  });
  await storage.transaction(rootTurn, (tx) => store(tx, before, { pending: after }));
  if (!(await works(cloud, before, after, tryForMs))) {
    throw new Refusal('upstream', `the new key ${after.access_key} does not work yet; the old one stays in use`);
  }
  await storage.transaction(rootTurn, (tx) =>
    store(tx, before, { ...after, pending: undefined, retiring: before.access_key }),
  );
  cloud.forget();
  const leftover = await retire(cloud, { ...before, ...after }, userName, before.access_key);
  if (leftover) {
    warn(`error deleting old access key: ${leftover}; it is tried again later`);
  } else {
    await storage.transaction(rootTurn, (tx) => store(tx, { ...before, ...after }, { retiring: undefined }));
    intent.settle();
  }
  return after.access_key;
}

/** Finishes or undoes a rotation that stopped: the undo of its intent. */
export async function resumeRotation(
  cloud: CloudTwo,
  undo: Readonly<Record<string, unknown>>,
  storage: Storage,
): Promise<void> {
  const config = await root.find(storage);
  if (config?.credential_source !== 'static') return;
  const user = String(undo.user);
  const before = String(undo.before);
  let inUse = config;
  if (config.pending && config.access_key === before && (await works(cloud, config, config.pending, tryEveryMs))) {
    inUse = { ...config, ...config.pending };
    await storage.transaction(rootTurn, (tx) =>
      store(tx, config, { ...config.pending, pending: undefined, retiring: before }),
    );
    cloud.forget();
  }
  if (inUse.access_key !== before) {
    // The mount was reconfigured in the meantime. The operator who did this is responsible for the new configuration
    // and for the replaced key.
    if (inUse === config && config.retiring !== before) return;
    const leftover = await retire(cloud, inUse, user, before);
    if (leftover) throw new Refusal('upstream', `error deleting old access key: ${leftover}`);
    await storage.transaction(rootTurn, (tx) => store(tx, inUse, { retiring: undefined, pending: undefined }));
    return;
  }
  // The old key is still in use: only a key that was created during the rotation belongs to the rotation.
  const { iam } = cloud.of(connection(config));
  const { AccessKeyMetadata = [] } = await attempt('error calling ListAccessKeys', () =>
    iam.send(new ListAccessKeysCommand({ UserName: user })),
  );
  const earlierKeys = (undo.known ?? []) as readonly string[];
  for (const { AccessKeyId, CreateDate } of AccessKeyMetadata) {
    if (!AccessKeyId || AccessKeyId === before || earlierKeys.includes(AccessKeyId)) continue;
    if (AccessKeyId !== config.pending?.access_key && !madeMeanwhile(CreateDate, undo.at_ms)) continue;
    const leftover = await retire(cloud, config, user, AccessKeyId);
    if (leftover) throw new Refusal('upstream', `error deleting unused access key: ${leftover}`);
  }
  await storage.transaction(rootTurn, (tx) => store(tx, config, { pending: undefined }));
}

/** The keys of the user before a rotation; undefined if this service may not list them. */
async function keysThere(iam: IAMClient, UserName: string): Promise<string[] | undefined> {
  try {
    const { AccessKeyMetadata = [] } = await iam.send(new ListAccessKeysCommand({ UserName }));
    return AccessKeyMetadata.flatMap(({ AccessKeyId }) => AccessKeyId ?? []);
  } catch (error) {
    if (codeOf(error) === 'AccessDenied') return undefined;
    throw cloudRefusal('error calling ListAccessKeys', error);
  }
}

/** Whether a key was created during a rotation. A later key may have been created by hand. */
function madeMeanwhile(createdAt: Date | undefined, begunMs: unknown): boolean {
  return (
    typeof begunMs !== 'number' || (createdAt !== undefined && Math.abs(createdAt.getTime() - begunMs) <= rotationMs)
  );
}

async function makeKey(cloud: CloudTwo, config: Root, UserName: string): Promise<KeyPair> {
  const { iam } = cloud.of(connection(config));
  const { AccessKey } = await attempt('error calling CreateAccessKey', () =>
    iam.send(new CreateAccessKeyCommand({ UserName })),
  );
  if (!AccessKey?.AccessKeyId || !AccessKey.SecretAccessKey) {
    throw new Refusal('upstream', 'error calling CreateAccessKey: the response of the cloud provider contains no key');
  }
  return { access_key: AccessKey.AccessKeyId, secret_key: AccessKey.SecretAccessKey };
}

/** Applies `change` to the configuration if the root key is still the expected one. */
async function store(tx: Storage, expected: Root, change: Partial<Root>): Promise<void> {
  const current = await root.find(tx);
  if (current?.access_key !== expected.access_key) {
    throw new Refusal('conflict', 'the root key was changed by another request; read config/root and try again');
  }
  root.put(tx, { ...current, ...change });
}

/** True as soon as the provider accepts the key. It takes a few seconds until new keys work everywhere. */
async function works(cloud: CloudTwo, config: Root, key: KeyPair, forMs: number): Promise<boolean> {
  const { sts } = cloud.of(connection({ ...config, ...key }));
  const until = performance.now() + forMs;
  for (;;) {
    try {
      await sts.send(new GetCallerIdentityCommand({}));
      return true;
    } catch (error) {
      if (performance.now() >= until) return false;
      // If the provider refuses for a reason other than an unknown key, it knows the key.
      if (codeOf(error) === 'AccessDenied') return true;
      await new Promise((resolve) => setTimeout(resolve, tryEveryMs));
    }
  }
}

/** Deletes an old key, using the current key. Returns why this failed; undefined if it succeeded. */
async function retire(
  cloud: CloudTwo,
  config: Root,
  UserName: string,
  AccessKeyId: string,
): Promise<string | undefined> {
  const { iam } = cloud.of(connection(config));
  try {
    await iam.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId }));
    return undefined;
  } catch (error) {
    return isGone(error) ? undefined : (error as Error).message;
  }
}
