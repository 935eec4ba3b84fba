import {
  GetGroupPolicyCommand,
  type IAMClient,
  paginateListAttachedGroupPolicies,
  paginateListGroupPolicies,
} from '@aws-sdk/client-iam';
import {
  AssumeRoleCommand,
  GetFederationTokenCommand,
  GetSessionTokenCommand,
  type STSClient,
} from '@aws-sdk/client-sts';
import { Refusal } from '@keystead/refusal';
import { attempt } from '../../sdk/cloud-error';
import { mergeDocuments } from './policy-document';
import type { CloudTwoRole } from './role-fields';

/** Credentials of the token service, which end by themselves at `expiresAtMs`. */
export interface StsCredentials {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly securityToken: string;
  readonly expiresAtMs: number;
  /** The ARN of the assumed role or the federated user. */
  readonly arn?: string | undefined;
}

/** The limits on the permissions of short-lived credentials. */
export interface Filter {
  readonly document: string | undefined;
  readonly arns: readonly string[];
}

/** The policies of a role: its own document and ARNs, and those of its groups. */
export async function filterOf(iam: IAMClient, role: CloudTwoRole): Promise<Filter> {
  const documents = [role.policy_document];
  const arns = [...role.policy_arns];
  for (const GroupName of role.iam_groups) {
    await attempt('Error reading group policies', async () => {
      for await (const page of paginateListAttachedGroupPolicies({ client: iam }, { GroupName })) {
        arns.push(...(page.AttachedPolicies ?? []).map((policy) => policy.PolicyArn ?? ''));
      }
      for await (const page of paginateListGroupPolicies({ client: iam }, { GroupName })) {
        for (const PolicyName of page.PolicyNames ?? []) {
          const { PolicyDocument = '' } = await iam.send(new GetGroupPolicyCommand({ GroupName, PolicyName }));
          documents.push(decodeURIComponent(PolicyDocument));
        }
      }
    });
  }
  return { document: mergeDocuments(documents), arns: [...new Set(arns)] };
}

function narrowed({ document, arns }: Filter) {
  return {
    ...(document ? { Policy: document } : {}),
    ...(arns.length > 0 ? { PolicyArns: arns.map((arn) => ({ arn })) } : {}),
  };
}

/** The values that the trust policy of a role can check. */
export interface Trust {
  readonly externalId: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** The values for the trust policy as request parameters, without those that the role does not set. */
export function trusted({ externalId, tags }: Trust) {
  const list = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  return { ...(externalId ? { ExternalId: externalId } : {}), ...(list.length > 0 ? { Tags: list } : {}) };
}

/** Assumes a role of the provider for `seconds`. */
export async function assumeRole(
  sts: STSClient,
  what: Trust & {
    readonly arn: string;
    readonly sessionName: string;
    readonly seconds: number;
    readonly filter: Filter;
  },
): Promise<StsCredentials> {
  const answer = await attempt('Error assuming role', () =>
    sts.send(
      new AssumeRoleCommand({
        RoleArn: what.arn,
        RoleSessionName: what.sessionName,
        DurationSeconds: what.seconds,
        ...narrowed(what.filter),
        ...trusted(what),
      }),
    ),
  );
  return { ...credentialsOf(answer.Credentials), arn: answer.AssumedRoleUser?.Arn ?? what.arn };
}

/**
 * Credentials of a federated user. Refused without a filter, because they would have all permissions of the root user.
 */
export async function federationToken(
  sts: STSClient,
  what: { name: string; seconds: number; filter: Filter },
): Promise<StsCredentials> {
  if (!what.filter.document && what.filter.arns.length === 0) {
    const text = 'must specify at least one of policy_arns or policy_document with federation_token credential_type';
    throw new Refusal('invalid', text);
  }
  const command = new GetFederationTokenCommand({
    Name: what.name,
    DurationSeconds: what.seconds,
    ...narrowed(what.filter),
  });
  const answer = await attempt('Error generating STS keys', () => sts.send(command));
  return { ...credentialsOf(answer.Credentials), arn: answer.FederatedUser?.Arn };
}

/** Short-lived credentials of the root user itself, with a code of its MFA device if the role has one. */
export async function sessionToken(
  sts: STSClient,
  what: { readonly seconds: number; readonly device: string; readonly code: string },
): Promise<StsCredentials> {
  const command = new GetSessionTokenCommand({
    DurationSeconds: what.seconds,
    ...(what.device ? { SerialNumber: what.device, TokenCode: what.code } : {}),
  });
  const answer = await attempt('Error generating STS keys', () => sts.send(command));
  return credentialsOf(answer.Credentials);
}

interface AnsweredCredentials {
  readonly AccessKeyId?: string | undefined;
  readonly SecretAccessKey?: string | undefined;
  readonly SessionToken?: string | undefined;
  readonly Expiration?: Date | undefined;
}

/** Credentials from the token service's answer. Throws `upstream` if it contains none. */
export function credentialsOf(answer: AnsweredCredentials | undefined): StsCredentials {
  if (!answer?.AccessKeyId || !answer.SecretAccessKey || !answer.SessionToken || !answer.Expiration) {
    throw new Refusal('upstream', 'the response of the cloud provider contains no credentials');
  }
  return {
    accessKey: answer.AccessKeyId,
    secretKey: answer.SecretAccessKey,
    securityToken: answer.SessionToken,
    expiresAtMs: answer.Expiration.getTime(),
  };
}
