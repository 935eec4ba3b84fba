import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type Flow, flowsOf } from '@keystead/testing';
import { Kills } from './kills';
import type { NodeProcess } from './nodes';
import { AccountsStandIn } from './stand-ins/accounts';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';

// A node is killed before and after each call and commit of every flow that changes an outside system. Afterwards the
// credentials there must be exactly those with a lease here. Normally three kills; the long form runs the whole matrix
// and prints its size.

describe('a node killed between two steps with an outside system', () => {
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const cluster = new AccountsStandIn();
  const kills = new Kills(/^(commit|scheduler|cloudtwo|accounts|lease|token):/);

  beforeAll(async () => {
    await Promise.all([scheduler.start(), cloud.start(), cluster.start()]);
    await kills.start();
    cloud.groups.set('g1', {
      attached: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
      inline: new Map([['p', '{"Version":"2012-10-17","Statement":[]}']]),
    });
    const document = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}';
    await kills.write('scheduler/config/access', { address: scheduler.address, token: scheduler.management });
    await kills.write('scheduler/role/ops', { policies: 'read' });
    await configureCloud(cloud.rootKey.id);
    await kills.write('cloudtwo/roles/user', {
      credential_type: 'iam_user',
      policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess,arn:aws:iam::aws:policy/PowerUserAccess',
      policy_document: document,
      iam_groups: 'g1',
    });
    await kills.write('cloudtwo/roles/assume', {
      credential_type: 'assumed_role',
      role_arns: 'arn:aws:iam::123456789012:role/x',
      iam_groups: 'g1',
    });
    await kills.write('cloudtwo/roles/federate', { credential_type: 'federation_token', policy_document: document });
    await kills.write('sys/mounts/cluster', { type: 'kubernetes' });
    await kills.write('cluster/config', {
      kubernetes_host: cluster.address,
      kubernetes_ca_cert: cluster.ca,
      service_account_jwt: cluster.bearer,
    });
    const generated_role_rules = '{"rules":[{"verbs":["get"]}]}';
    await kills.write('cluster/roles/own', { allowed_kubernetes_namespaces: 'shop', generated_role_rules });
  });
  afterAll(async () => {
    await kills.end();
    await Promise.all([scheduler.stop(), cloud.stop(), cluster.stop()]);
  });

  function configureCloud(keyId: string) {
    const { id, secret } = cloud.keys.get(keyId)!;
    return kills.write('cloudtwo/config/root', {
      access_key: id,
      secret_key: secret,
      iam_endpoint: cloud.address,
      sts_endpoint: cloud.address,
    });
  }
  const leaseOf = async (path: string) => (await kills.read(path)).body.lease_id as string;
  const creds = (path: string) => async () => (node: NodeProcess) => node.ask('GET', path, kills.root);
  const ending = (path: string) => async () => {
    const lease_id = await leaseOf(path);
    return (node: NodeProcess) => node.ask('POST', 'sys/leases/revoke', kills.root, { lease_id });
  };

  const flows: Flow<NodeProcess>[] = [
    { name: 'scheduler create', prepare: creds('scheduler/creds/ops'), sample: 'scheduler:create:done' },
    {
      name: 'scheduler renew',
      async prepare() {
        const lease_id = await leaseOf('scheduler/creds/ops');
        return (node) => node.ask('POST', 'sys/leases/renew', kills.root, { lease_id, increment: 60_000 });
      },
    },
    { name: 'scheduler revoke', prepare: ending('scheduler/creds/ops') },
    { name: 'iam_user create', prepare: creds('cloudtwo/creds/user'), sample: 'cloudtwo:CreateAccessKey:done' },
    { name: 'iam_user revoke', prepare: ending('cloudtwo/creds/user') },
    { name: 'assumed_role create', prepare: creds('cloudtwo/sts/assume') },
    { name: 'federation_token create', prepare: creds('cloudtwo/sts/federate') },
    {
      name: 'kubernetes create',
      prepare: async () => (node) => node.ask('POST', 'cluster/creds/own', kills.root),
      sample: 'accounts:POST:done',
    },
    {
      name: 'kubernetes revoke',
      async prepare() {
        const { lease_id } = (await kills.write('cluster/creds/own')).body;
        return (node) => node.ask('POST', 'sys/leases/revoke', kills.root, { lease_id, sync: true });
      },
    },
    {
      name: 'token with both revoked',
      async prepare() {
        const made = await kills.living.ask('POST', 'auth/token/create', kills.root, { policies: ['root'] });
        const token = made.body.auth.client_token as string;
        await kills.living.ask('GET', 'scheduler/creds/ops', token);
        await kills.living.ask('GET', 'cloudtwo/creds/user', token);
        return (node) => node.ask('POST', 'auth/token/revoke-self', token);
      },
    },
    {
      name: 'rotate-root',
      prepare: async () => (node) => node.ask('POST', 'cloudtwo/config/rotate-root', kills.root),
      sample: 'cloudtwo:CreateAccessKey:done',
    },
  ];

  const rootKeys = () => [...cloud.keys.values()].filter((key) => key.user === 'root-svc');

  /** Credentials without a lease, and leases without credentials. */
  async function mismatch(): Promise<{ orphans: number; dead: number }> {
    const off = { orphans: Math.max(0, rootKeys().length - 1), dead: 0 };
    const configured = (await kills.read('cloudtwo/config/root')).body.data.access_key;
    if (!rootKeys().some(({ id }) => id === configured)) off.dead++;
    for (const [issued, path] of [
      [scheduler.issued.length, 'scheduler/creds/ops/'],
      [cloud.issued.length, 'cloudtwo/creds/user/'],
      // Each account has a role and its binding.
      [cluster.objects.size / 3, 'cluster/creds/own/'],
    ] as const) {
      const leases = await kills.count(`lease WHERE path = '${path}'`);
      off.orphans += Math.max(0, issued - leases);
      off.dead += Math.max(0, leases - issued);
    }
    return off;
  }

  async function look() {
    await kills.swept();
    const early = await mismatch();
    await kills.undone();
    const late = await mismatch();
    await kills.living.goAhead(0);
    await kills.write('sys/leases/revoke-prefix/scheduler/creds');
    await kills.write('sys/leases/revoke-prefix/cloudtwo');
    await kills.write('sys/leases/revoke-prefix/cluster', { sync: true });
    await configureCloud(rootKeys()[0]!.id);
    return { early, late };
  }

  const well = { orphans: 0, dead: 0 };
  it.each(flowsOf(flows))(
    'during $name leaves no credential without a lease and no lease without a credential',
    (flow) => kills.withstands(flow, { early: well, late: well }, look),
    3_600_000,
  );
});
