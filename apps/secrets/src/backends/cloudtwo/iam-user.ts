import {
  AddUserToGroupCommand,
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeactivateMFADeviceCommand,
  DeleteAccessKeyCommand,
  DeleteLoginProfileCommand,
  DeleteServiceSpecificCredentialCommand,
  DeleteSigningCertificateCommand,
  DeleteSSHPublicKeyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  DetachUserPolicyCommand,
  GetUserCommand,
  type IAMClient,
  ListServiceSpecificCredentialsCommand,
  PutUserPolicyCommand,
  paginateListAccessKeys,
  paginateListAttachedUserPolicies,
  paginateListGroupsForUser,
  paginateListMFADevices,
  paginateListSigningCertificates,
  paginateListSSHPublicKeys,
  paginateListUserPolicies,
  RemoveUserFromGroupCommand,
} from '@aws-sdk/client-iam';
import { Refusal } from '@keystead/refusal';
import { attempt, cloudRefusal, codeOf, isGone, wasRefused } from '../../sdk/cloud-error';
import { type CloudTwoRole, defaultUserPath } from './role-fields';

/** The tolerated difference between the two clocks after the correction, which is accurate to about a second. */
const clocksApartMs = 2 * 60_000;

/** A user with one access key. */
export interface MadeUser {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly arn: string;
}

/**
 * Creates a user with everything from its role, and its access key last, so that an incomplete user has no key. Tags
 * are part of the creation, and policies and groups are added in parallel, so this takes three round trips. If the
 * provider refuses to create the user, calls `nothingMade`, because an existing user with that name belongs to someone
 * else.
 */
export async function createUser(
  iam: IAMClient,
  name: string,
  roleName: string,
  role: CloudTwoRole,
  nothingMade: () => Promise<void>,
): Promise<MadeUser> {
  const UserName = name;
  const tags = Object.entries(role.iam_tags).map(([Key, Value]) => ({ Key, Value }));
  const created = await attempt('Error creating IAM user', () =>
    iam.send(
      new CreateUserCommand({
        UserName,
        Path: role.user_path || defaultUserPath,
        ...(role.permissions_boundary_arn ? { PermissionsBoundary: role.permissions_boundary_arn } : {}),
        ...(tags.length > 0 ? { Tags: tags } : {}),
      }),
    ),
  ).catch(async (error) => {
    if (wasRefused(error)) await nothingMade();
    else if (codeOf((error as Error).cause ?? {}) === 'EntityAlreadyExists') {
      const text =
        'Error creating IAM user: an attempt whose response was lost created the user, which will be deleted';
      throw new Refusal('upstream', text, [], { cause: error });
    }
    throw error;
  });
  await allOf([
    ...role.policy_arns.map((PolicyArn) =>
      attempt('Error attaching user policy', () => iam.send(new AttachUserPolicyCommand({ UserName, PolicyArn }))),
    ),
    ...(role.policy_document ? [putPolicy(iam, UserName, roleName, role.policy_document)] : []),
    ...role.iam_groups.map((GroupName) =>
      attempt('Error adding user to group', () => iam.send(new AddUserToGroupCommand({ UserName, GroupName }))),
    ),
  ]);
  const { AccessKey } = await attempt('Error creating access keys', () =>
    iam.send(new CreateAccessKeyCommand({ UserName })),
  );
  if (!AccessKey?.AccessKeyId || !AccessKey.SecretAccessKey) {
    throw new Refusal('upstream', 'Error creating access keys: the response of the cloud provider contains no key');
  }
  return { accessKey: AccessKey.AccessKeyId, secretKey: AccessKey.SecretAccessKey, arn: created.User?.Arn ?? '' };
}

function putPolicy(iam: IAMClient, UserName: string, PolicyName: string, PolicyDocument: string): Promise<unknown> {
  const put = new PutUserPolicyCommand({ UserName, PolicyName, PolicyDocument });
  return attempt('Error putting user policy', () => iam.send(put));
}

/** Waits for all steps to end, and only then throws the first failure, so that no step continues in the background. */
async function allOf(steps: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(steps);
  const failed = ended.find((one): one is PromiseRejectedResult => one.status === 'rejected');
  if (failed) throw failed.reason;
}

/**
 * Removes a user whose creation started at `begunMs` and never finished. A much older user existed before and belongs
 * to someone else. `aheadMs` is how far the provider's clock, which sets the creation time of users, is ahead of ours.
 */
export async function takeBackUser(
  iam: IAMClient,
  name: string,
  begunMs: number | undefined,
  aheadMs: () => number,
): Promise<void> {
  try {
    const { User } = await iam.send(new GetUserCommand({ UserName: name }));
    const madeMs = User?.CreateDate?.getTime();
    if (madeMs !== undefined && begunMs !== undefined && madeMs < begunMs + aheadMs() - clocksApartMs) return;
  } catch (error) {
    if (isGone(error)) return;
    // Credentials that may not read users may still delete them.
    if (codeOf(error) !== 'AccessDenied') throw cloudRefusal('Error calling GetUser', error);
  }
  await deleteUser(iam, name);
}

/**
 * Deletes a user and everything that would block its deletion, its keys first, so that a partial deletion has already
 * revoked the credentials. Manual additions are searched only if the provider refuses to delete the user. Returns
 * whether the user existed; a missing user is treated as deleted. Throws a refusal that names the step.
 */
export async function deleteUser(iam: IAMClient, name: string): Promise<boolean> {
  const UserName = name;
  await remove(keysOf(iam, UserName));
  await allOf(grantRemovals(iam, UserName).map(remove));
  try {
    await iam.send(new DeleteUserCommand({ UserName }));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    if (codeOf(error) !== 'DeleteConflict') throw cloudRefusal('Error deleting IAM user', error);
  }
  await allOf(addedByHand(iam, UserName).map(remove));
  await remove(['Error deleting IAM user', () => iam.send(new DeleteUserCommand({ UserName }))]);
  return true;
}

type Removal = readonly [doing: string, remove: () => Promise<unknown>];

async function remove([doing, run]: Removal): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isGone(error)) throw cloudRefusal(doing, error);
  }
}

function keysOf(iam: IAMClient, UserName: string): Removal {
  return [
    'Error deleting access keys',
    () =>
      each(paginateListAccessKeys({ client: iam }, { UserName }), 'AccessKeyMetadata', (key) =>
        iam.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId: key.AccessKeyId })),
      ),
  ];
}

/** The steps that remove what roles add to users. */
function grantRemovals(iam: IAMClient, UserName: string): Removal[] {
  const of = { client: iam };
  const user = { UserName };
  return [
    [
      'Error detaching user policies',
      () =>
        each(paginateListAttachedUserPolicies(of, user), 'AttachedPolicies', (policy) =>
          iam.send(new DetachUserPolicyCommand({ ...user, PolicyArn: policy.PolicyArn })),
        ),
    ],
    [
      'Error deleting user policies',
      () =>
        each(paginateListUserPolicies(of, user), 'PolicyNames', (PolicyName) =>
          iam.send(new DeleteUserPolicyCommand({ ...user, PolicyName })),
        ),
    ],
    [
      'Error removing user from groups',
      () =>
        each(paginateListGroupsForUser(of, user), 'Groups', (group) =>
          iam.send(new RemoveUserFromGroupCommand({ ...user, GroupName: group.GroupName })),
        ),
    ],
  ];
}

function addedByHand(iam: IAMClient, UserName: string): Removal[] {
  const of = { client: iam };
  const user = { UserName };
  return [
    ['Error deleting login profile', () => unlessUnsupported(() => iam.send(new DeleteLoginProfileCommand(user)))],
    [
      'Error deactivating MFA devices',
      () =>
        unlessUnsupported(() =>
          each(paginateListMFADevices(of, user), 'MFADevices', (device) =>
            iam.send(new DeactivateMFADeviceCommand({ ...user, SerialNumber: device.SerialNumber })),
          ),
        ),
    ],
    [
      'Error deleting signing certificates',
      () =>
        unlessUnsupported(() =>
          each(paginateListSigningCertificates(of, user), 'Certificates', (certificate) =>
            iam.send(new DeleteSigningCertificateCommand({ ...user, CertificateId: certificate.CertificateId })),
          ),
        ),
    ],
    [
      'Error deleting SSH public keys',
      () =>
        unlessUnsupported(() =>
          each(paginateListSSHPublicKeys(of, user), 'SSHPublicKeys', (key) =>
            iam.send(new DeleteSSHPublicKeyCommand({ ...user, SSHPublicKeyId: key.SSHPublicKeyId })),
          ),
        ),
    ],
    [
      'Error deleting service credentials',
      () =>
        unlessUnsupported(async () => {
          const { ServiceSpecificCredentials = [] } = await iam.send(new ListServiceSpecificCredentialsCommand(user));
          for (const { ServiceSpecificCredentialId } of ServiceSpecificCredentials) {
            await iam.send(new DeleteServiceSpecificCredentialCommand({ ...user, ServiceSpecificCredentialId }));
          }
        }),
    ],
  ];
}

async function each<K extends string, T>(
  pages: AsyncIterable<{ readonly [key in K]?: readonly T[] | undefined }>,
  key: K,
  remove: (item: T) => Promise<unknown>,
): Promise<void> {
  const found: T[] = [];
  for await (const page of pages) found.push(...(page[key] ?? []));
  for (const item of found) {
    try {
      await remove(item);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

/**
 * The steps that remove what an administrator may have added to a generated user. Permissions for these calls are often
 * missing, and some compatible servers do not support them. In this case the deletion of the user reports what blocks
 * it.
 */
async function unlessUnsupported(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const passable = ['AccessDenied', 'InvalidAction', 'NotImplemented', 'UnsupportedOperation', 'NoSuchEntity'];
    if (!passable.includes(codeOf(error))) throw error;
  }
}
