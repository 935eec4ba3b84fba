import { type CloudTwoRole, defaultUserPath } from './role-fields';
import type { Trust } from './sts-credentials';

/** A permission that the root credentials must have at the provider, and its purpose. */
export interface NeededRight {
  readonly action: string;
  readonly resource: string;
  readonly neededFor: string;
  /** The values that the trust policy of an assumed role may require. */
  readonly trust?: Trust | undefined;
}

/** The settings, apart from roles, that determine the needed permissions. */
export interface NeedsContext {
  readonly partition: string;
  readonly account: string;
  /** A user name that the engine could generate. */
  readonly userName: string;
  /** The user of the root key; undefined if the key belongs to no user. */
  readonly ownUser: string | undefined;
  /** Whether the root key can be rotated. */
  readonly rotates: boolean;
}

const forUsers = [
  'iam:CreateUser',
  'iam:GetUser',
  'iam:DeleteUser',
  'iam:CreateAccessKey',
  'iam:ListAccessKeys',
  'iam:DeleteAccessKey',
  'iam:ListAttachedUserPolicies',
  'iam:ListUserPolicies',
  'iam:ListGroupsForUser',
];
const forPolicies = ['iam:AttachUserPolicy', 'iam:DetachUserPolicy'];
const forDocuments = ['iam:PutUserPolicy', 'iam:DeleteUserPolicy'];
const forMembership = ['iam:AddUserToGroup', 'iam:RemoveUserFromGroup'];
const forGroupPolicies = ['iam:ListAttachedGroupPolicies', 'iam:ListGroupPolicies', 'iam:GetGroupPolicy'];
const forRotation = ['iam:GetUser', 'iam:CreateAccessKey', 'iam:ListAccessKeys', 'iam:DeleteAccessKey'];

/** The rights that these roles and the rotation of the root key need, without duplicates. */
export function neededRights(roles: ReadonlyMap<string, CloudTwoRole>, context: NeedsContext): NeededRight[] {
  const iam = (rest: string) => `arn:${context.partition}:iam::${context.account}:${rest}`;
  const needs: NeededRight[] = [];
  const add = (actions: readonly string[], resource: string, neededFor: string) =>
    needs.push(...actions.map((action) => ({ action, resource, neededFor })));
  for (const [name, role] of roles) {
    const what = `role ${name}`;
    for (const type of role.credential_types) {
      if (type === 'iam_user') {
        const user = iam(`user${role.user_path || defaultUserPath}${context.userName}`);
        add(forUsers, user, what);
        if (Object.keys(role.iam_tags).length > 0) add(['iam:TagUser'], user, what);
        if (role.policy_arns.length > 0) add(forPolicies, user, what);
        if (role.policy_document) add(forDocuments, user, what);
        for (const group of role.iam_groups) add(forMembership, iam(`group/${group}`), what);
        continue;
      }
      // Every user may ask for its own session.
      if (type === 'session_token') continue;
      for (const group of role.iam_groups) add(forGroupPolicies, iam(`group/${group}`), what);
      if (type === 'assumed_role') {
        const trust = { externalId: role.external_id ?? '', tags: role.session_tags ?? {} };
        const action = 'sts:AssumeRole';
        needs.push(...role.role_arns.map((resource) => ({ action, resource, neededFor: what, trust })));
      } else add(['sts:GetFederationToken'], `arn:${context.partition}:sts::${context.account}:federated-user/*`, what);
    }
  }
  if (context.rotates && context.ownUser) add(forRotation, iam(`user/${context.ownUser}`), 'rotation of the root key');
  return merged(needs);
}

function merged(needs: readonly NeededRight[]): NeededRight[] {
  const found = new Map<string, NeededRight>();
  for (const need of needs) {
    const key = JSON.stringify([need.action, need.resource, need.trust]);
    const before = found.get(key);
    const neededFor =
      before && before.neededFor !== need.neededFor ? `${before.neededFor}, ${need.neededFor}` : need.neededFor;
    found.set(key, { ...need, neededFor });
  }
  return [...found.values()];
}
