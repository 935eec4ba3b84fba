import {
  AddUserToGroupCommand,
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  DetachUserPolicyCommand,
  GetGroupPolicyCommand,
  GetUserCommand,
  type IAMClient,
  ListAccessKeysCommand,
  ListAttachedGroupPoliciesCommand,
  ListAttachedUserPoliciesCommand,
  ListGroupPoliciesCommand,
  ListGroupsForUserCommand,
  ListUserPoliciesCommand,
  PutUserPolicyCommand,
  RemoveUserFromGroupCommand,
  TagUserCommand,
} from '@aws-sdk/client-iam';
import { AssumeRoleCommand, GetFederationTokenCommand, type STSClient } from '@aws-sdk/client-sts';
import { codeOf } from '../../sdk/cloud-error';
import type { NeededRight, NeedsContext } from './needed-rights';
import { trusted } from './sts-credentials';

/** Whether a permission is present, if known, and how this was determined. */
export interface Finding {
  readonly allowed: boolean | null;
  readonly how: string;
}

/** Credentials without any rights. */
const nothing = '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}';
const shortestSeconds = 900;
const someKey = 'AKIA0000000000000000';
const somePolicy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
const someName = 'keystead-check';

/** Errors that only authorised callers get. */
const allowedErrors = new Set(['NoSuchEntity', 'EntityAlreadyExists', 'LimitExceeded', 'DeleteConflict']);

/**
 * Tests a permission with a request that cannot succeed: a call on a user that does not exist, the creation of a user
 * that exists, or a request for credentials without permissions. Changes nothing at the provider.
 */
export async function probe(
  iam: IAMClient,
  sts: STSClient,
  right: NeededRight,
  context: NeedsContext,
): Promise<Finding> {
  const call = attemptOf(iam, sts, right, context);
  if (!call) return { allowed: null, how: 'cannot be tried without changing something' };
  const how = right.action === 'iam:CreateUser' ? 'tried with the user’s own name' : 'tried';
  try {
    await call();
    return { allowed: true, how };
  } catch (error) {
    const code = codeOf(error);
    if (/^AccessDenied/.test(code) || code === 'UnauthorizedOperation') return { allowed: false, how };
    if (allowedErrors.has(code)) return { allowed: true, how };
    return { allowed: null, how: `${how}: ${code || 'no answer'}` };
  }
}

function attemptOf(iam: IAMClient, sts: STSClient, { action, resource, trust }: NeededRight, context: NeedsContext) {
  // No user has this name, so calls with it cannot succeed.
  const user = { UserName: context.userName };
  const group = { GroupName: resource.split('/').at(-1)! };
  const ownUser = context.ownUser;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'iam:GetUser': () => iam.send(new GetUserCommand(user)),
    'iam:DeleteUser': () => iam.send(new DeleteUserCommand(user)),
    'iam:CreateAccessKey': () => iam.send(new CreateAccessKeyCommand(user)),
    'iam:ListAccessKeys': () => iam.send(new ListAccessKeysCommand(user)),
    'iam:DeleteAccessKey': () => iam.send(new DeleteAccessKeyCommand({ ...user, AccessKeyId: someKey })),
    'iam:ListAttachedUserPolicies': () => iam.send(new ListAttachedUserPoliciesCommand(user)),
    'iam:ListUserPolicies': () => iam.send(new ListUserPoliciesCommand(user)),
    'iam:ListGroupsForUser': () => iam.send(new ListGroupsForUserCommand(user)),
    'iam:TagUser': () => iam.send(new TagUserCommand({ ...user, Tags: [{ Key: someName, Value: 'x' }] })),
    'iam:AttachUserPolicy': () => iam.send(new AttachUserPolicyCommand({ ...user, PolicyArn: somePolicy })),
    'iam:DetachUserPolicy': () => iam.send(new DetachUserPolicyCommand({ ...user, PolicyArn: somePolicy })),
    'iam:PutUserPolicy': () =>
      iam.send(new PutUserPolicyCommand({ ...user, PolicyName: someName, PolicyDocument: nothing })),
    'iam:DeleteUserPolicy': () => iam.send(new DeleteUserPolicyCommand({ ...user, PolicyName: someName })),
    'iam:AddUserToGroup': () => iam.send(new AddUserToGroupCommand({ ...user, ...group })),
    'iam:RemoveUserFromGroup': () => iam.send(new RemoveUserFromGroupCommand({ ...user, ...group })),
    'iam:ListAttachedGroupPolicies': () => iam.send(new ListAttachedGroupPoliciesCommand(group)),
    'iam:ListGroupPolicies': () => iam.send(new ListGroupPoliciesCommand(group)),
    'iam:GetGroupPolicy': () => iam.send(new GetGroupPolicyCommand({ ...group, PolicyName: someName })),
    'sts:AssumeRole': () =>
      sts.send(
        new AssumeRoleCommand({
          RoleArn: resource,
          RoleSessionName: someName,
          DurationSeconds: shortestSeconds,
          Policy: nothing,
          ...(trust ? trusted(trust) : {}),
        }),
      ),
    'sts:GetFederationToken': () =>
      sts.send(new GetFederationTokenCommand({ Name: someName, DurationSeconds: shortestSeconds, Policy: nothing })),
  };
  // The creation of a user is tested only with an existing name, so that it cannot create a user by mistake.
  if (action === 'iam:CreateUser')
    return ownUser ? () => iam.send(new CreateUserCommand({ UserName: ownUser })) : undefined;
  return calls[action];
}
