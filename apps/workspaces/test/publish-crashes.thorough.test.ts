import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Flow, flowsOf, type Victim } from '@keystead/testing';
import { sweepBlobs } from '../src/kernel/blobs/blobs';
import { removeObjects } from '../src/kernel/blobs/chunks';
import { followArtifacts, publishFetched } from '../src/resources/artifacts/fetched/publish-fetched';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { archiveOf, fetchUrl, putUrl } from './configurations';
import { FakeGitea } from './fake-gitea';
import { fetchAll } from './fetch-all';
import { NodeKills, statusOf } from './node-kills';
import { ObjectStoreStandIn } from './object-store-stand-in';
import { addKey, providerZip, type SigningKey, signatureOf, signingKey, sumOf, sumsOf } from './signed-provider';
import { resource, startWorkspaces } from './start-workspaces';

// A node is killed before and after each commit while versions of modules, providers and policy sets are published, by
// upload and from Git. Its answers must stay true, no version is offered without its archive, and callers who repeat
// unanswered requests get one version, one audit event, and no unreferenced blobs. Normally a few kills; the long form
// runs the whole matrix and prints its size.

const moduleFiles = { 'main.tf': 'output "x" { value = 1 }' };
const policyFiles: [string, string][] = [
  ['policies.hcl', 'policy "cost" {\n query = "data.cost.deny"\n enforcement_level = "mandatory"\n}\n'],
  ['cost.rego', 'package cost'],
];
/** The requests so far, and which of them were answered. */
interface Published {
  readonly answered: Set<string>;
  /** Repeats unanswered requests on the surviving node. */
  finish(): Promise<unknown>;
  /** Problems of the offered versions. `whole`: all versions must be offered. */
  wrong(whole: boolean): Promise<string[]>;
  /** The number of blobs at the end. */
  readonly blobs: number;
}

describe.each(['database', 'object store'])('a node killed during publishing, with archives in the %s', (place) => {
  const host = new FakeGitea();
  const store = new ObjectStoreStandIn();
  const env: Record<string, string> = {
    WORKSPACES_VCS: 'on',
    WORKSPACES_VCS_NETWORKS: '127.0.0.1/32',
  };
  beforeAll(async () => {
    await Promise.all([host.start(), store.start()]);
    if (place === 'object store') Object.assign(env, store.variables);
  });
  const kills = new NodeKills(
    () => workspaces,
    () => env,
  );
  // Runs before the database is dropped.
  afterAll(() => kills.end());
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;
  let key: SigningKey & { keyId: string };
  let connection = '';
  let names = 0;
  let current: Published;
  let blobsBefore = 0;
  let eventsBefore = 0;

  beforeAll(async () => {
    await workspaces.organization('acme');
    const made = await signingKey('acme');
    key = { ...made, keyId: await addKey(admin, 'acme', made) };
    const attributes = {
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
      'oauth-token-string': 'text',
    };
    const { body } = await admin
      .post('organizations/acme/oauth-clients', resource('oauth-clients', attributes))
      .expect(201);
    connection = body.data.relationships['oauth-tokens'].data[0].id;
    host.branches.set('main', host.commit('Begin'));
  });
  afterAll(() => Promise.all([host.stop(), store.stop()]));

  const one = async <T>(text: string, values: unknown[] = []): Promise<T> =>
    (await workspaces.service.pool.query(text, values)).rows[0];
  const blobs = async () => (await one<{ n: number }>('SELECT count(*)::int AS n FROM blob')).n;
  const begin = async (published: Published) => {
    current = published;
    blobsBefore = await blobs();
    eventsBefore = Number((await one<{ n: string }>('SELECT coalesce(max(id), 0) AS n FROM audit_event')).n);
  };
  const download = async (link: string) => (await fetchUrl(workspaces, link).expect(200)).body as Buffer;

  const modules = '/api/registry/v1/modules/acme';
  const wrongModule = async (name: string, archive: Buffer | undefined, answered: boolean) => {
    const { body } = await admin.get(`${modules}/${name}/crane/versions`).expect(200);
    const [offered] = body.modules[0].versions;
    if (!offered) return answered ? [`${name} is not offered`] : [];
    const { headers } = await admin.get(`${modules}/${name}/crane/1.0.0/download`).expect(204);
    const bytes = await download(headers['x-terraform-get']!);
    return archive === undefined || bytes.equals(archive) ? [] : [`${name} has other bytes`];
  };

  const uploadedModule = async () => {
    const name = `module-${++names}`;
    const answered = new Set<string>();
    const archive = await archiveOf(Object.entries({ ...moduleFiles, 'README.md': name }));
    const made = resource('registry-modules', { name, provider: 'crane', 'registry-name': 'private' });
    await admin.post('organizations/acme/registry-modules', made).expect(201);
    const announce = (by = admin) =>
      by.post(
        `registry-modules/acme/${name}/crane/versions`,
        resource('registry-module-versions', { version: '1.0.0' }),
      );
    const at = `organizations/acme/registry-modules/private/acme/${name}/crane/version?module_version=1.0.0`;
    await begin({
      answered,
      blobs: 2,
      finish: async () => {
        if (!answered.has('announced')) expect([201, 422]).toContain(await statusOf(announce()));
        const { links, attributes } = (await admin.get(at).expect(200)).body.data;
        if (attributes.status !== 'ok') await putUrl(workspaces, links.upload, archive).expect(200);
        // The same archive again changes nothing.
        else if (links?.upload) await putUrl(workspaces, links.upload, archive).expect(200);
      },
      wrong: (whole) => wrongModule(name, archive, whole || answered.has('uploaded')),
    });
    return async (node: Victim) => {
      const there = kills.at(node);
      if ((await statusOf(announce(there.admin))) !== 201) return;
      answered.add('announced');
      const { links } = (await admin.get(at).expect(200)).body.data;
      if ((await statusOf(putUrl(there, links.upload, archive))) === 200) answered.add('uploaded');
    };
  };

  const provider = async () => {
    const name = `provider${++names}`;
    const answered = new Set<string>();
    const archive = providerZip(name, '1.0.0');
    const filename = `terraform-provider-${name}_1.0.0_linux_amd64.zip`;
    const sums = sumsOf([[filename, archive]]);
    const signature = await signatureOf(sums, key);
    const under = 'organizations/acme/registry-providers';
    const versions = `${under}/private/acme/${name}/versions`;
    await admin
      .post(under, resource('registry-providers', { name, namespace: 'acme', 'registry-name': 'private' }))
      .expect(201);
    const linksOf = async (path: string) => (await admin.get(path).expect(200)).body.data.links;
    const platform = `${versions}/1.0.0/platforms/linux/amd64`;
    /** The steps in their order; each returns the status of its answer. */
    const steps: Record<string, (at: ReturnType<typeof kills.at>) => Promise<number>> = {
      announce: ({ admin: by }) =>
        statusOf(
          by.post(
            versions,
            resource('registry-provider-versions', { version: '1.0.0', 'key-id': key.keyId, protocols: ['5.0'] }),
          ),
        ),
      sums: async (at) => {
        const link = (await linksOf(`${versions}/1.0.0`))['shasums-upload'];
        return link ? statusOf(putUrl(at, link, Buffer.from(sums))) : 200;
      },
      signature: async (at) => {
        const link = (await linksOf(`${versions}/1.0.0`))['shasums-sig-upload'];
        return link ? statusOf(putUrl(at, link, signature)) : 200;
      },
      platform: ({ admin: by }) =>
        statusOf(
          by.post(
            `${versions}/1.0.0/platforms`,
            resource('registry-provider-platforms', { os: 'linux', arch: 'amd64', shasum: sumOf(archive), filename }),
          ),
        ),
      archive: async (at) => {
        const link = (await linksOf(platform))['provider-binary-upload'];
        return link ? statusOf(putUrl(at, link, archive)) : 200;
      },
    };
    await begin({
      answered,
      blobs: 1,
      finish: async () => {
        const living = { admin, server: workspaces.server as never, as: workspaces.as };
        for (const [step, take] of Object.entries(steps)) {
          // A second version with the same number is refused.
          if (!answered.has(step)) expect([200, 201, 422]).toContain(await take(living));
        }
      },
      wrong: async (whole) => {
        const { body } = await admin.get(`/api/registry/v1/providers/acme/${name}/versions`).expect(200);
        const isDone = whole || Object.keys(steps).every((step) => answered.has(step));
        if (body.versions.length === 0) return isDone ? [`${name} is not offered`] : [];
        const found = await admin.get(`/api/registry/v1/providers/acme/${name}/1.0.0/download/linux/amd64`);
        if (found.status !== 200) return [`${name} is offered and not there`];
        const bytes = await download(found.body.download_url);
        const listed = (await download(found.body.shasums_url)).toString();
        const signed = await download(found.body.shasums_signature_url);
        return bytes.equals(archive) && listed === sums && signed.equals(signature) ? [] : [`${name} is another`];
      },
    });
    return async (node: Victim) => {
      for (const [step, take] of Object.entries(steps)) {
        if (![200, 201].includes(await take(kills.at(node)))) return;
        answered.add(step);
      }
    };
  };

  const policySet = async () => {
    const name = `set-${++names}`;
    const answered = new Set<string>();
    const archive = await archiveOf([...policyFiles, ['notes.json', `{"n":"${name}"}`]]);
    const made = resource('policy-sets', { name, kind: 'opa' });
    const { id } = (await admin.post('organizations/acme/policy-sets', made).expect(201)).body.data;
    let version = '';
    const announce = async (by = admin) => {
      const answer = await by.post(`policy-sets/${id}/versions`);
      version = answer.body.data.id;
      return answer.body.data.links.upload as string;
    };
    await begin({
      answered,
      blobs: 1,
      finish: async () => {
        if (version === '') return putUrl(workspaces, await announce(), archive).expect(200);
        const { links } = (await admin.get(`policy-set-versions/${version}`).expect(200)).body.data;
        return links?.upload ? putUrl(workspaces, links.upload, archive).expect(200) : undefined;
      },
      wrong: async (whole) => {
        const row = await one<{ id: string; status: string; chunks: number | null } | undefined>(
          `SELECT v.id, v.status, b.chunks FROM policy_set s JOIN policy_set_version v ON v.policy_set_id = s.id
             LEFT JOIN blob b ON b.id = v.blob_id WHERE s.id = $1 AND v.status = 'ready'`,
          [id],
        );
        const { relationships } = (await admin.get(`policy-sets/${id}`).expect(200)).body.data;
        const shown = relationships['current-version']?.data;
        if (!row) return whole || answered.has('uploaded') || shown ? [`${name} has no version`] : [];
        return row.chunks !== null && shown?.id === row.id
          ? []
          : [`${name} uses another version, or one without files`];
      },
    });
    return async (node: Victim) => {
      const there = kills.at(node);
      const link = await announce(there.admin).catch(() => undefined);
      if (link && (await statusOf(putUrl(there, link, archive))) === 200) answered.add('uploaded');
    };
  };

  const deps = () => {
    const { db, env: own } = workspaces.service;
    const { keyring, publicUrl, configurationBytes, largeUploads } = own;
    return { db, keyring, publicUrl, reach: own.vcsReach!, configurationBytes, largeUploads };
  };
  /** A version that follows a branch, whose commit was fetched, and that is tested when it is published. */
  const followedModule = async () => {
    const name = `followed-${++names}`;
    const made = resource('registry-modules', {
      name,
      provider: 'crane',
      'initial-version': '1.0.0',
      'test-config': { 'tests-enabled': true },
      'vcs-repo': {
        ...{ identifier: 'team/net', 'display-identifier': 'team/net', 'oauth-token-id': connection, branch: 'main' },
      },
    });
    const { id } = (await admin.post('organizations/acme/registry-modules/vcs', made).expect(201)).body.data;
    const { prisma } = deps().db;
    const due = () => prisma.moduleFetch.updateMany({ data: { nextAt: new Date(0) } });
    const files = { ...moduleFiles, 'README.md': name };
    await begin({
      answered: new Set(),
      blobs: 2,
      finish: async () => {
        await due();
        await publishFetched(deps());
      },
      wrong: async (whole) => {
        const [tests, left] = [
          await prisma.toolRun.count({ where: { moduleVersion: { moduleId: id } } }),
          await prisma.moduleFetch.count(),
        ];
        return [
          ...(await wrongModule(name, undefined, whole)),
          ...(tests > 1 || (whole && tests === 0) ? [`${name} has ${tests} runs of its tests`] : []),
          ...(whole && left > 0 ? [`${left} commits are still to be published`] : []),
        ];
      },
    });
    await prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(deps(), () => workspaces.service.env.settings(), 3600, undefined, followArtifacts);
    await due();
    await fetchAll(workspaces.service, { files });
    return (node: Victim) => node.order({ job: 'publish versions from repositories' }).catch(() => undefined);
  };

  /** Problems, before and after the caller repeats unanswered requests. */
  async function look(): Promise<object> {
    const wrong = await current.wrong(false);
    await current.finish();
    wrong.push(...(await current.wrong(true)));
    await sweepBlobs(workspaces.service.db, Date.now() + 86_400_000);
    await workspaces.service.pool.query('UPDATE object_removal SET not_before = now()');
    await removeObjects(workspaces.service.db);
    const { rows: twice } = await workspaces.service.pool.query(
      `SELECT action, count(*)::int AS times FROM audit_event WHERE id > $1 AND action NOT LIKE '%download'
        GROUP BY action, target_id, before, after HAVING count(*) > 1`,
      [eventsBefore],
    );
    const kept = (await blobs()) - blobsBefore - current.blobs;
    const objects = new Set([...store.objects.keys()].map((at) => at.split('/').at(-2)));
    const { rows } = await workspaces.service.pool.query<{ id: string }>("SELECT id FROM blob WHERE store = 'objects'");
    const lost = rows.filter(({ id }) => !objects.has(id)).length;
    const orphans = [...objects].filter((id) => /^blob-/.test(id ?? '') && !rows.some((row) => row.id === id)).length;
    return { wrong, twice, kept, lost, orphans };
  }

  const flows: readonly Flow<Victim>[] = [
    { name: 'a module', prepare: uploadedModule, sample: 'commit:after' },
    { name: 'a provider', prepare: provider },
    { name: 'a policy set', prepare: policySet },
    { name: 'a module from Git', prepare: followedModule },
  ];

  it.each(flowsOf(flows))(
    'loses nothing of $name, and publishes nothing partly or twice',
    (flow) => kills.withstands(flow, { wrong: [], twice: [], kept: 0, lost: 0, orphans: 0 }, look),
    3_600_000,
  );
});
