import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { startSecrets } from '../../../test/start-secrets';

interface Right {
  readonly action: string;
  readonly needed_for: string;
  readonly allowed: boolean | null;
  readonly how: string;
}

describe('the dry run of the root credentials', () => {
  const cloud = new CloudStandIn();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets();
  const arn = 'arn:aws:iam::123456789012:role/deploy';
  beforeAll(async () => {
    cloud.groups.set('staff', { attached: [], inline: new Map() });
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key: cloud.rootKey.id,
        secret_key: cloud.rootKey.secret,
        region: 'eu-west-1',
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
        max_retries: 0,
      })
      .expect(204);
    const role = (name: string, fields: object) => secrets.root.write(`cloudtwo/roles/${name}`, fields).expect(204);
    await role('user', {
      credential_type: 'iam_user',
      policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
      policy_document: '{"Statement":[]}',
      iam_groups: 'staff',
      iam_tags: 'a=b',
    });
    await role('assume', { credential_type: 'assumed_role', role_arns: arn, iam_groups: 'staff' });
    await role('federate', { credential_type: 'federation_token', policy_document: '{"Statement":[]}' });
  });
  beforeEach(() => {
    cloud.denied.clear();
    cloud.calls.length = 0;
  });
  const check = async (fields: object = {}) =>
    (await secrets.root.write('cloudtwo/config/root/check', fields).expect(200)).body;
  /** Users and keys before and after, so that a check that changes something is noticed. */
  const things = () => [cloud.users.size, cloud.keys.size, cloud.users.get('root-svc')!.policies.size];

  it('finds nothing missing if everything is granted, by policy simulation', async () => {
    const { data, warnings } = await check();
    expect(data).toMatchObject({ account: '123456789012', arn: expect.stringContaining(':user/root-svc') });
    expect([data.missing, data.unknown]).toEqual([[], []]);
    expect(data.rights.length).toBeGreaterThan(20);
    expect(warnings).toBeNull();
    expect(cloud.actions()).not.toContain('CreateUser');
  });

  it('names every denied action, with its purpose', async () => {
    for (const action of ['iam:TagUser', 'iam:DeleteUser', 'sts:AssumeRole']) cloud.denied.add(action);
    const { data, warnings } = await check();
    expect(data.missing.sort()).toEqual(['iam:DeleteUser', 'iam:TagUser', 'sts:AssumeRole']);
    expect(warnings[0]).toContain('iam:TagUser');
    const found = data.rights.find((right: Right) => right.action === 'sts:AssumeRole');
    expect(found).toEqual({
      action: 'sts:AssumeRole',
      resource: arn,
      needed_for: 'role assume',
      allowed: false,
      how: 'tried',
    });
  });

  it('tries actions that it may not simulate, without changing anything', async () => {
    const every = (await check()).data.rights.map(({ action }: Right) => action);
    cloud.denied.add('iam:SimulatePrincipalPolicy');
    const before = things();
    const granted = (await check()).data;
    expect([granted.missing, granted.unknown]).toEqual([[], []]);
    for (const action of new Set<string>(every)) cloud.denied.add(action);
    const refused = (await check()).data;
    expect(refused.missing.sort()).toEqual([...new Set(every)].sort());
    expect(refused.rights.every(({ how }: Right) => how.startsWith('tried'))).toBe(true);
    expect(things()).toEqual(before);
  });

  it('names the actions that it could not check', async () => {
    cloud.denied.add('iam:SimulatePrincipalPolicy');
    cloud.fail = (action) =>
      action === 'TagUser' ? { status: 400, code: 'InvalidAction', message: 'no such operation' } : undefined;
    const { data } = await check({ role: 'user' });
    cloud.fail = () => undefined;
    expect(data.unknown).toEqual(['iam:TagUser']);
  });

  it('can be limited to a role', async () => {
    const { data } = await check({ role: 'federate' });
    const ownRights = data.rights.filter(({ needed_for }: Right) => needed_for === 'role federate');
    expect(ownRights.map(({ action }: Right) => action)).toEqual(['sts:GetFederationToken']);
    await secrets.root.read('cloudtwo/config/root/check?role=federate').expect(200);
    await secrets.root.write('cloudtwo/config/root/check', { role: 'nope' }).expect(400, /Role .*nope.* not found/);
  });

  it('refuses credentials that the provider does not know', async () => {
    cloud.keys.delete(cloud.rootKey.id);
    const { body } = await secrets.root.read('cloudtwo/config/root/check').expect(502);
    expect(body.errors[0]).toContain('error calling GetCallerIdentity: InvalidClientTokenId');
  });
});
