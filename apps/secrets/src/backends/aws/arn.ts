import { Refusal } from '@keystead/refusal';

/** An AWS user or role, from an ARN. */
export interface Principal {
  readonly partition: string;
  readonly account: string;
  readonly kind: 'user' | 'role';
  /** Unique among its kind in the account, for any path. */
  readonly name: string;
}

const pattern = /^arn:(aws[a-z-]*):(iam|sts)::(\d{12}):(.+)$/;
const namePattern = /^[\w+=,.@-]{1,128}$/;

/**
 * The user or role in an ARN, including the ARN of a session with an assumed role. Throws `invalid` for all other ARNs:
 * an account’s root, federated users, services.
 */
export function principalOf(arn: string): Principal {
  const [, partition = '', service, account = '', resource = ''] = pattern.exec(arn) ?? [];
  const [type, ...rest] = resource.split('/');
  const isUser = service === 'iam' && type === 'user';
  const isRole = service === 'iam' && type === 'role';
  const isSession = service === 'sts' && type === 'assumed-role' && rest.length === 2;
  const name = (isSession ? rest[0] : rest.at(-1)) ?? '';
  if (!(isUser || isRole || isSession) || !namePattern.test(name)) {
    throw new Refusal('invalid', `${JSON.stringify(arn.slice(0, 300))} is neither a user nor a role of AWS`);
  }
  return { partition, account, kind: isUser ? 'user' : 'role', name };
}

/** The ARN of a principal without its path, which sessions do not contain. */
export function canonicalArn({ partition, account, kind, name }: Principal): string {
  return `arn:${partition}:iam::${account}:${kind}/${name}`;
}
