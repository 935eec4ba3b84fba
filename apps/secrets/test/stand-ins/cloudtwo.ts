import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { blockedBy, type Extras, isExtra, runExtra } from './cloudtwo-extras';

interface Key {
  readonly id: string;
  readonly secret: string;
  readonly user: string;
  readonly created: Date;
}
interface User {
  readonly name: string;
  readonly path: string;
  readonly boundary: string;
  readonly tags: Record<string, string>;
  readonly policies: Set<string>;
  readonly inline: Map<string, string>;
  readonly groups: Set<string>;
  /** Things an administrator attached outside the engine: a login profile, MFA devices, certificates and so on. */
  readonly extras: Extras;
  readonly created: Date;
}
type Form = Record<string, string>;
class Fault extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const accountId = '123456789012';
const userNamePattern = /^[\w+=,.@-]{1,64}$/;
const sessionPattern = /^[\w+=,.@-]{2,64}$/;
const federationPattern = /^[\w+=,.@-]{2,32}$/;

/**
 * A fake AWS IAM and STS for tests. It speaks the real wire format and enforces the real limits, conflicts and error
 * codes. `calls` records each action with its parameters; `fail` can make any action fail.
 */
export class CloudStandIn {
  readonly users = new Map<string, User>();
  readonly keys = new Map<string, Key>();
  readonly groups = new Map<string, { attached: string[]; inline: Map<string, string> }>();
  readonly managed = new Set(['arn:aws:iam::aws:policy/ReadOnlyAccess', 'arn:aws:iam::aws:policy/PowerUserAccess']);
  readonly calls: { action: string; form: Form }[] = [];
  fail: (action: string, form: Form) => { status: number; code: string; message: string } | undefined = () => undefined;
  /** Simulates a proxy in front of the provider: returns true if the proxy answered instead. */
  interfere: (action: string, response: http.ServerResponse, form: Form) => boolean = () => false;
  /** The provider's clock. */
  nowMs: () => number = Date.now;
  /** Actions that are denied, such as `iam:TagUser`. */
  readonly denied = new Set<string>();
  /** Conditions of the trust policies of roles, by ARN. */
  readonly externalIds = new Map<string, string>();
  /** The code on the MFA device of the root user. */
  deviceCode = '123456';
  /** New keys are unknown to the token service for this long. */
  keyDelayMs = 0;
  delayMs = 0;
  readonly rootKey: Key;
  private readonly server = http.createServer((request, response) => void this.answer(request, response));

  constructor() {
    this.addUser('root-svc', {});
    this.rootKey = this.addKey('root-svc');
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.address;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Users that the engine created and has not yet deleted. */
  get issued(): User[] {
    return [...this.users.values()].filter((user) => user.name !== 'root-svc');
  }

  actions(): string[] {
    return this.calls.map((call) => call.action);
  }

  addKey(user: string): Key {
    const key: Key = {
      id: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
      secret: randomBytes(30).toString('base64'),
      user,
      created: new Date(this.nowMs()),
    };
    this.keys.set(key.id, key);
    return key;
  }

  private addUser(name: string, form: Form): User {
    const user: User = {
      name,
      path: form.Path ?? '/',
      boundary: form.PermissionsBoundary ?? '',
      tags: Object.fromEntries(members(form, 'Tags').map((tag) => [tag.Key ?? '', tag.Value ?? ''])),
      policies: new Set(),
      inline: new Map(),
      groups: new Set(),
      extras: new Map(),
      created: new Date(this.nowMs()),
    };
    this.users.set(name, user);
    return user;
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const form = Object.fromEntries(new URLSearchParams(body)) as Form;
    const action = form.Action ?? '';
    this.calls.push({ action, form });
    if (this.interfere(action, response, form)) return;
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    response.setHeader('content-type', 'text/xml');
    response.setHeader('date', new Date(this.nowMs()).toUTCString());
    response.setHeader('x-amzn-requestid', 'r-1');
    try {
      const failure = this.fail(action, form);
      if (failure) throw new Fault(failure.status, failure.code, failure.message);
      const caller = this.authenticate(request.headers.authorization ?? '', action);
      const result = this.run(action, form, caller);
      const inner = result === undefined ? '' : `<${action}Result>${result}</${action}Result>`;
      response.end(
        `<${action}Response>${inner}<ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></${action}Response>`,
      );
    } catch (error) {
      const fault = error instanceof Fault ? error : new Fault(500, 'ServiceFailure', String(error));
      response.statusCode = fault.status;
      response.end(
        `<ErrorResponse><Error><Type>Sender</Type><Code>${fault.code}</Code><Message>${escapeXml(fault.message)}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>`,
      );
    }
  }

  private authenticate(authorization: string, action: string): Key {
    const id = /Credential=([^/]+)\//.exec(authorization)?.[1] ?? '';
    const key = this.keys.get(id);
    const young = key && key !== this.rootKey && this.nowMs() - key.created.getTime() < this.keyDelayMs;
    if (key && !(young && action === 'GetCallerIdentity')) return key;
    throw new Fault(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.');
  }

  private run(action: string, form: Form, caller: Key): string | undefined {
    if (isExtra(action)) {
      const answer = runExtra(action, form, this.user(form).extras);
      if (answer === 'absent') throw new Fault(404, 'NoSuchEntity', `${action}: there is none.`);
      return answer;
    }
    const permission = `${/^(AssumeRole|GetFederationToken|GetSessionToken)$/.test(action) ? 'sts' : 'iam'}:${action}`;
    if (this.denied.has(permission)) {
      throw new Fault(403, 'AccessDenied', `User: ${caller.user} is not authorized to perform: ${permission}`);
    }
    const handler = (this as unknown as Record<string, (form: Form, caller: Key) => string | undefined>)[`do${action}`];
    if (!handler) throw new Fault(400, 'InvalidAction', `Could not find operation ${action}`);
    return handler.call(this, form, caller);
  }

  private user(form: Form): User {
    const user = this.users.get(form.UserName ?? '');
    if (user) return user;
    throw new Fault(404, 'NoSuchEntity', `The user with name ${form.UserName} cannot be found.`);
  }

  protected doCreateUser(form: Form): string {
    const name = form.UserName ?? '';
    matches(name, userNamePattern, 'userName');
    if (members(form, 'Tags').length > 50)
      throw new Fault(409, 'LimitExceeded', 'The number of tags has reached the maximum limit.');
    if (this.users.has(name)) throw new Fault(409, 'EntityAlreadyExists', `User with name ${name} already exists.`);
    const user = this.addUser(name, form);
    return `<User><Path>${user.path}</Path><UserName>${name}</UserName><UserId>AIDA1</UserId><Arn>arn:aws:iam::${accountId}:user${user.path}${name}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></User>`;
  }

  protected doGetUser(form: Form, caller: Key): string {
    const user = this.user({ UserName: form.UserName ?? caller.user });
    return `<User><Path>/</Path><UserName>${user.name}</UserName><UserId>AIDA1</UserId><Arn>arn:aws:iam::${accountId}:user/${user.name}</Arn><CreateDate>${user.created.toISOString()}</CreateDate></User>`;
  }

  protected doTagUser(form: Form): undefined {
    this.user(form);
  }

  protected doSimulatePrincipalPolicy(form: Form): string {
    const actions = Object.entries(form).flatMap(([key, value]) => (key.startsWith('ActionNames.') ? [value] : []));
    const results = actions.map((action) => {
      const decision = this.denied.has(action) ? 'implicitDeny' : 'allowed';
      return `<member><EvalActionName>${action}</EvalActionName><EvalDecision>${decision}</EvalDecision></member>`;
    });
    return `<EvaluationResults>${results.join('')}</EvaluationResults><IsTruncated>false</IsTruncated>`;
  }

  protected doAttachUserPolicy(form: Form): undefined {
    const user = this.user(form);
    const arn = form.PolicyArn ?? '';
    if (!this.managed.has(arn))
      throw new Fault(404, 'NoSuchEntity', `Policy ${arn} does not exist or is not attachable.`);
    if (user.policies.size >= 10) throw new Fault(409, 'LimitExceeded', 'Cannot exceed quota for PoliciesPerUser: 10');
    user.policies.add(arn);
  }

  protected doPutUserPolicy(form: Form): undefined {
    const document = JSON.parse(form.PolicyDocument ?? '{}') as { Statement?: unknown };
    if (!document.Statement) throw new Fault(400, 'MalformedPolicyDocument', 'Syntax errors in policy.');
    this.user(form).inline.set(form.PolicyName ?? '', form.PolicyDocument ?? '');
  }

  protected doAddUserToGroup(form: Form): undefined {
    const group = form.GroupName ?? '';
    if (!this.groups.has(group)) throw new Fault(404, 'NoSuchEntity', `The group with name ${group} cannot be found.`);
    this.user(form).groups.add(group);
  }

  protected doCreateAccessKey(form: Form, caller: Key): string {
    const user = this.user({ UserName: form.UserName ?? caller.user });
    if (this.keysOf(user.name).length >= 2)
      throw new Fault(409, 'LimitExceeded', 'Cannot exceed quota for AccessKeysPerUser: 2');
    const key = this.addKey(user.name);
    return `<AccessKey><UserName>${user.name}</UserName><AccessKeyId>${key.id}</AccessKeyId><Status>Active</Status><SecretAccessKey>${key.secret}</SecretAccessKey></AccessKey>`;
  }

  protected doListAccessKeys(form: Form): string {
    const keys = this.keysOf(this.user(form).name).map(
      (key) =>
        `<member><UserName>${key.user}</UserName><AccessKeyId>${key.id}</AccessKeyId><Status>Active</Status><CreateDate>${key.created.toISOString()}</CreateDate></member>`,
    );
    return `<AccessKeyMetadata>${keys.join('')}</AccessKeyMetadata><IsTruncated>false</IsTruncated>`;
  }

  protected doDeleteAccessKey(form: Form): undefined {
    if (!this.keys.delete(form.AccessKeyId ?? ''))
      throw new Fault(404, 'NoSuchEntity', 'The Access Key cannot be found.');
  }

  protected doListAttachedUserPolicies(form: Form): string {
    const list = [...this.user(form).policies].map((arn) => `<member><PolicyArn>${arn}</PolicyArn></member>`);
    return `<AttachedPolicies>${list.join('')}</AttachedPolicies><IsTruncated>false</IsTruncated>`;
  }

  protected doDetachUserPolicy(form: Form): undefined {
    if (!this.user(form).policies.delete(form.PolicyArn ?? '')) throw new Fault(404, 'NoSuchEntity', 'not attached');
  }

  protected doListUserPolicies(form: Form): string {
    const list = [...this.user(form).inline.keys()].map((name) => `<member>${name}</member>`);
    return `<PolicyNames>${list.join('')}</PolicyNames><IsTruncated>false</IsTruncated>`;
  }

  protected doDeleteUserPolicy(form: Form): undefined {
    this.user(form).inline.delete(form.PolicyName ?? '');
  }

  protected doListGroupsForUser(form: Form): string {
    const list = [...this.user(form).groups].map((name) => `<member><GroupName>${name}</GroupName></member>`);
    return `<Groups>${list.join('')}</Groups><IsTruncated>false</IsTruncated>`;
  }

  protected doRemoveUserFromGroup(form: Form): undefined {
    this.user(form).groups.delete(form.GroupName ?? '');
  }

  protected doDeleteUser(form: Form): undefined {
    const user = this.user(form);
    const blocked =
      (this.keysOf(user.name).length > 0 && 'access keys') ||
      (user.policies.size > 0 && 'attached policies') ||
      (user.inline.size > 0 && 'inline policies') ||
      (user.groups.size > 0 && 'group memberships') ||
      blockedBy(user.extras);
    if (blocked) throw new Fault(409, 'DeleteConflict', `Cannot delete entity, must delete ${blocked} first.`);
    this.users.delete(user.name);
  }

  protected doListAttachedGroupPolicies(form: Form): string {
    const arns = this.group(form).attached.map((arn) => `<member><PolicyArn>${arn}</PolicyArn></member>`);
    return `<AttachedPolicies>${arns.join('')}</AttachedPolicies><IsTruncated>false</IsTruncated>`;
  }

  protected doListGroupPolicies(form: Form): string {
    const names = [...this.group(form).inline.keys()].map((name) => `<member>${name}</member>`);
    return `<PolicyNames>${names.join('')}</PolicyNames><IsTruncated>false</IsTruncated>`;
  }

  protected doGetGroupPolicy(form: Form): string {
    const document = this.group(form).inline.get(form.PolicyName ?? '') ?? '';
    return `<GroupName>${form.GroupName}</GroupName><PolicyName>${form.PolicyName}</PolicyName><PolicyDocument>${encodeURIComponent(document)}</PolicyDocument>`;
  }

  private group(form: Form) {
    const group = this.groups.get(form.GroupName ?? '');
    if (group) return group;
    throw new Fault(404, 'NoSuchEntity', `The group with name ${form.GroupName} cannot be found.`);
  }

  protected doGetCallerIdentity(_form: Form, caller: Key): string {
    return `<Arn>arn:aws:iam::${accountId}:user/${caller.user}</Arn><UserId>AIDA1</UserId><Account>${accountId}</Account>`;
  }

  protected doAssumeRole(form: Form): string {
    matches(form.RoleSessionName ?? '', sessionPattern, 'roleSessionName');
    const role = (form.RoleArn ?? '').split('/').at(-1);
    const wanted = this.externalIds.get(form.RoleArn ?? '');
    if (wanted !== undefined && form.ExternalId !== wanted) {
      throw new Fault(403, 'AccessDenied', `User is not authorized to perform: sts:AssumeRole on ${form.RoleArn}`);
    }
    return `${this.credentials(form, 900, 43_200)}<AssumedRoleUser><AssumedRoleId>AROA1:${form.RoleSessionName}</AssumedRoleId><Arn>arn:aws:sts::${accountId}:assumed-role/${role}/${form.RoleSessionName}</Arn></AssumedRoleUser>`;
  }

  protected doGetFederationToken(form: Form): string {
    matches(form.Name ?? '', federationPattern, 'name');
    return `${this.credentials(form, 900, 129_600)}<FederatedUser><FederatedUserId>${accountId}:${form.Name}</FederatedUserId><Arn>arn:aws:sts::${accountId}:federated-user/${form.Name}</Arn></FederatedUser>`;
  }

  protected doGetSessionToken(form: Form): string {
    if (form.SerialNumber !== undefined && form.TokenCode !== this.deviceCode) {
      const text = 'MultiFactorAuthentication failed with invalid MFA one time pass code.';
      throw new Fault(403, 'AccessDenied', text);
    }
    return this.credentials(form, 900, 129_600);
  }

  private credentials(form: Form, least: number, most: number): string {
    const seconds = Number(form.DurationSeconds);
    if (!(seconds >= least && seconds <= most)) {
      throw new Fault(
        400,
        'ValidationError',
        `1 validation error detected: Value '${seconds}' at 'durationSeconds' failed to satisfy constraint`,
      );
    }
    const expires = new Date(this.nowMs() + seconds * 1000).toISOString();
    return `<Credentials><AccessKeyId>ASIA${randomBytes(8).toString('hex').toUpperCase()}</AccessKeyId><SecretAccessKey>${randomBytes(20).toString('hex')}</SecretAccessKey><SessionToken>${randomBytes(30).toString('hex')}</SessionToken><Expiration>${expires}</Expiration></Credentials>`;
  }

  private keysOf(user: string): Key[] {
    return [...this.keys.values()].filter((key) => key.user === user);
  }
}

function matches(value: string, pattern: RegExp, field: string): void {
  if (pattern.test(value)) return;
  throw new Fault(
    400,
    'ValidationError',
    `1 validation error detected: Value '${value}' at '${field}' failed to satisfy constraint`,
  );
}

/** `Tags.member.1.Key=…` as a list of objects. */
function members(form: Form, name: string): Form[] {
  const found: Form[] = [];
  for (const [key, value] of Object.entries(form)) {
    const match = new RegExp(`^${name}\\.member\\.(\\d+)\\.(\\w+)$`).exec(key);
    if (!match) continue;
    const at = Number(match[1]) - 1;
    found[at] = { ...found[at], [match[2]!]: value };
  }
  return found.filter(Boolean);
}

function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
