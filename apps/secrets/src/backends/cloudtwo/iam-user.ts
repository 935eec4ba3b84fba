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
import { attempt, cloudRefusal, codeOf, isGone } from './cloud-error';
import type { Role } from './role';

/** A user with one access key. */
export interface MadeUser {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly arn: string;
}

/**
 * Makes a user with everything the role gives it, and its access key, in that order: a user whose making stopped half way
 * holds no key. Tags travel with the creation, which saves a call.
 */
export async function createUser(iam: IAMClient, name: string, roleName: string, role: Role): Promise<MadeUser> {
  const UserName = name;
  const tags = Object.entries(role.iam_tags).map(([Key, Value]) => ({ Key, Value }));
  const made = await attempt('Error creating IAM user', () =>
    iam.send(
      new CreateUserCommand({
        UserName,
        Path: role.user_path || '/',
        ...(role.permissions_boundary_arn ? { PermissionsBoundary: role.permissions_boundary_arn } : {}),
        ...(tags.length > 0 ? { Tags: tags } : {}),
      }),
    ),
  );
  for (const PolicyArn of role.policy_arns) {
    await attempt('Error attaching user policy', () => iam.send(new AttachUserPolicyCommand({ UserName, PolicyArn })));
  }
  if (role.policy_document) {
    const put = new PutUserPolicyCommand({ UserName, PolicyName: roleName, PolicyDocument: role.policy_document });
    await attempt('Error putting user policy', () => iam.send(put));
  }
  for (const GroupName of role.iam_groups) {
    await attempt('Error adding user to group', () => iam.send(new AddUserToGroupCommand({ UserName, GroupName })));
  }
  const { AccessKey } = await attempt('Error creating access keys', () =>
    iam.send(new CreateAccessKeyCommand({ UserName })),
  );
  return { accessKey: AccessKey!.AccessKeyId!, secretKey: AccessKey!.SecretAccessKey!, arn: made.User?.Arn ?? '' };
}

/**
 * Ends a user and whatever would block its deletion, its keys first, so that a deletion that stops half way has already
 * ended the credentials. A user that is gone counts as ended. Throws a refusal that names the failing step.
 */
export async function deleteUser(iam: IAMClient, name: string): Promise<void> {
  const UserName = name;
  for (const [doing, remove] of blockers(iam, UserName)) {
    try {
      await remove();
    } catch (error) {
      if (isGone(error)) continue;
      throw cloudRefusal(doing, error);
    }
  }
  try {
    await iam.send(new DeleteUserCommand({ UserName }));
  } catch (error) {
    if (!isGone(error)) throw cloudRefusal('Error deleting IAM user', error);
  }
}

function blockers(iam: IAMClient, UserName: string): [string, () => Promise<void>][] {
  const of = { client: iam };
  const user = { UserName };
  return [
    [
      'Error deleting access keys',
      () =>
        each(paginateListAccessKeys(of, user), 'AccessKeyMetadata', (key) =>
          iam.send(new DeleteAccessKeyCommand({ ...user, AccessKeyId: key.AccessKeyId })),
        ),
    ],
    ['Error deleting login profile', () => unlessUnsupported(() => iam.send(new DeleteLoginProfileCommand(user)))],
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
 * The calls for what an administrator may have added to a generated user by hand: rights to them are often not granted,
 * and not every compatible server knows them. What really blocks is then told by the deletion of the user.
 */
async function unlessUnsupported(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const passable = ['AccessDenied', 'InvalidAction', 'NotImplemented', 'UnsupportedOperation', 'NoSuchEntity'];
    if (!passable.includes(codeOf(error))) throw error;
  }
}
