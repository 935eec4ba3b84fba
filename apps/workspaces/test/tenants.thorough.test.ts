import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { slice } from '@keystead/testing';
import request from 'supertest';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { rowsButRefusals } from './database-rows';
import { fakeWorker } from './fake-worker';
import { declarationOf } from './fields-walk';
import { idSlots } from './id-slots';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';
import { absentLike, type Tenant, tenant } from './tenant';

/** Path parameters that belong to no organization. */
const nobodys = [
  ':expires',
  ':signature',
  ':version_id',
  ':provider_id',
  ':scim_token_id',
  ':vcs_repository_id',
  ':reserved_name_id',
];

const wordOf = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;

/** The parameters of a path, each with its name in `Tenant.params`. */
function parametersOf({ path }: Endpoint, params: Tenant['params']): { part: string; key: string }[] {
  return [...path.matchAll(/:\w+/g)].map(([part]) => {
    const first = path.split('/')[1];
    return { part, key: `${first}/${part}` in params ? `${first}/${part}` : part };
  });
}

/**
 * Operations open to a member without rights: the organization and its people, and lists of what they may see, which
 * are empty.
 */
const ofMembers = [
  'GET /users/:user_id',
  'GET /organizations/:organization_name',
  'GET /organizations/:organization_name/relationships/module-producers',
  'GET /organizations/:organization_name/subscription',
  'GET /organizations/:organization_name/feature-sets',
  'GET /organizations/:organization_name/entitlement-set',
  'GET /organizations/:organization_name/teams',
  'GET /organizations/:organization_name/organization-memberships :membership_id :user_id',
  'GET /organization-memberships/:membership_id :user_id',
  'GET /organizations/:organization_name/team-tokens',
  // Each token is checked separately.
  'DELETE /organizations/:organization_name/team-tokens: 422',
  'GET /organizations/:organization_name/projects',
  'GET /organizations/:organization_name/agent-pools',
  'GET /organizations/:organization_name/workspaces',
  'GET /organizations/:organization_name/tags',
  // Everyone who sees a tag may send this; each workspace is checked separately.
  'POST /tags/:tag_id/relationships/workspaces: 422',
  'GET /organizations/:organization_name/reserved-tag-keys :reserved_tag_key_id',
  'GET /organizations/:organization_name/varsets',
  // Only variables that the caller may read.
  'GET /organizations/:organization_name/vars',
  'GET /organizations/:organization_name/tasks :task_id',
  'GET /tasks/:task_id',
  'GET /organizations/:organization_name/runs',
  'GET /organizations/:organization_name/runs/queue',
  'GET /organizations/:organization_name/capacity',
  // Both list runs that the caller sees, and none to callers who see none.
  'GET /organizations/:organization_name/run-counts',
  'GET /organizations/:organization_name/runs/stream',
  // Each workspace is checked separately.
  'POST /organizations/:organization_name/explorer/bulk-actions: 422',
  // Members read modules, providers and policies, and so do the tools with their tokens.
  'GET /organizations/:organization_name/registry-modules :registry_module_id :module_name :module_provider :module_version :no_code_module_id :provider_version',
  'GET /organizations/:organization_name/registry-modules/validation',
  'GET /organizations/:organization_name/registry-modules/private/:namespace/:module_name/:module_provider :registry_module_id :module_version :no_code_module_id :provider_version',
  'GET /registry-modules/:registry_module_id :module_name :module_provider :module_version :no_code_module_id :provider_version',
  'GET /registry-modules/:registry_module_id/tag-bindings',
  'GET /api/registry/v1/modules/:namespace/:module_name/:module_provider/versions :module_version :provider_version',
  'GET /api/registry/v1/modules/:namespace/:module_name/:module_provider/:module_version/download',
  'GET /api/registry/v1/modules/:namespace/:module_name/:module_provider/:module_version',
  'GET /api/registry/v1/modules/:namespace/:module_name/:module_provider/:module_version/provenance',
  'GET /no-code-modules/:no_code_module_id :registry_module_id',
  'GET /no-code-modules/:no_code_module_id/versions/:module_version/module-variables',
  'GET /organizations/:organization_name/registry-providers :registry_provider_id :provider_name :provider_version_id',
  'GET /organizations/:organization_name/registry-providers/private/:namespace/:provider_name :registry_provider_id :provider_version_id',
  'GET /registry-providers/:registry_provider_id :provider_name :provider_version_id',
  'GET /registry-providers/:registry_provider_id/tag-bindings',
  'GET /organizations/:organization_name/registry-providers/private/:namespace/:provider_name/versions :module_version :registry_provider_id :provider_version :provider_version_id :provider_platform_id :key_id',
  'GET /organizations/:organization_name/registry-providers/private/:namespace/:provider_name/versions/:provider_version :registry_provider_id :provider_version_id :provider_platform_id :key_id',
  'GET /organizations/:organization_name/registry-providers/private/:namespace/:provider_name/versions/:provider_version/platforms :module_provider :provider_version_id :provider_platform_id :os :arch',
  'GET /organizations/:organization_name/registry-providers/private/:namespace/:provider_name/versions/:provider_version/platforms/:os/:arch :provider_version_id :provider_platform_id',
  'GET /api/registry/v1/providers/:namespace/:provider_name/versions :module_provider :module_version :provider_version :os :arch',
  'GET /api/registry/v1/providers/:namespace/:provider_name/:provider_version/download/:os/:arch :provider_version_id :provider_platform_id :key_id',
  'GET /api/registry/mirror/:organization_name/workspaces.test/:namespace/:provider_name/index.json :module_version :provider_version',
  'GET /api/registry/mirror/:organization_name/workspaces.test/:namespace/:provider_name/:version_file :module_provider :provider_platform_id :os :arch',
  'GET /api/registry/private/v2/gpg-keys/:namespace/:key_id',
  'GET /organizations/:organization_name/policies :policy_id :policy_set_id',
  'GET /policies/:policy_id :policy_set_id',
  'GET /policies/:policy_id/download',
  'GET /organizations/:organization_name/policy-sets :policy_id :policy_set_id :policy_set_version_id',
  'GET /policy-sets/:policy_set_id :policy_id',
  'GET /policy-sets/:policy_set_id/versions',
  'GET /policy-set-versions/:policy_set_version_id',
  'GET /organizations/:organization_name/relationships/data-retention-policy',
  // Rows are about workspaces that the caller sees; this walk names no view.
  'GET /organizations/:organization_name/explorer: 400',
  'GET /organizations/:organization_name/explorer/export/csv: 400',
];

/** After being idle for too long, an owner's session still shows that the organization exists. */
const ofTheTired = [
  'GET /users/:user_id',
  'GET /organizations/:organization_name',
  'GET /organizations/:organization_name/relationships/module-producers',
  'GET /organizations/:organization_name/subscription',
  'GET /organizations/:organization_name/feature-sets',
  'GET /organizations/:organization_name/entitlement-set',
  'GET /organizations/:organization_name/teams',
  'GET /organizations/:organization_name/projects',
  'GET /organizations/:organization_name/workspaces',
  'GET /organizations/:organization_name/tags',
  'GET /organizations/:organization_name/runs',
  'GET /organizations/:organization_name/runs/queue',
  'GET /organizations/:organization_name/runs/stream',
  'GET /organizations/:organization_name/relationships/data-retention-policy',
  // Rows are about workspaces that the caller sees; this walk names no view.
  'GET /organizations/:organization_name/explorer: 400',
  'GET /organizations/:organization_name/explorer/export/csv: 400',
];

describe.each(['self-hosted', 'hosted'] as const)('two organizations, %s', (edition) => {
  const isHosted = edition === 'hosted';
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs, env: { WORKSPACES_EDITION: edition } });
  const operations = resources
    .flatMap(({ endpoints }) => endpoints)
    // The same text for every organization.
    .map((endpoint) => ({
      ...endpoint,
      path: endpoint.path.replace(':registry_name', 'private').replace(':hostname', 'workspaces.test'),
      declaration: declarationOf(endpoint),
    }))
    // The endpoints for directories belong to no organization, and accept only a directory's tokens: `scim.test.ts`
    // checks that.
    .filter(({ dialect }) => dialect === undefined)
    // The same for the endpoints of agents: `agents.test.ts` goes over all of them.
    .filter(({ tokens }) => !tokens.includes('agent'))
    .filter((endpoint) => (isHosted ? endpoint.edition === edition : endpoint.edition !== 'hosted'));
  // Endpoints of only one edition take no ids in bodies and queries.
  const onceOnly = isHosted ? it.skip : it;
  let mine: Tenant;
  let theirs: Tenant;
  /** Strings that no answer to `me` may contain, unless `me` sent them. */
  let canaries: string[] = [];

  beforeAll(async () => {
    const worker = fakeWorker(workspaces);
    mine = await tenant(workspaces, worker, 'walrus');
    theirs = await tenant(workspaces, worker, 'zebra');
    mine = { ...mine, params: { ...mine.params, ':assessment_result_id': await assess(mine) } };
    theirs = { ...theirs, params: { ...theirs.params, ':assessment_result_id': await assess(theirs) } };
    mine = await withStage(await withApp(mine));
    theirs = await withStage(await withApp(theirs));
    for (const { name, owner } of isHosted ? [] : [mine, theirs]) {
      const policy = resource('data-retention-policy-dont-deletes');
      await owner.post(`organizations/${name}/relationships/data-retention-policy`, policy).expect(200);
    }
    canaries = [...new Set([...Object.values(theirs.params), ...Object.values(theirs.ids), 'zebra'])];
  });

  /** As if its workspace had been assessed: the API cannot request that. */
  const assess = async ({ name, params }: Tenant): Promise<string> => {
    const id = `asmtres-${name}`;
    const workspace = params[':workspace_id'];
    await workspaces.service.pool.query(
      `INSERT INTO run (id, workspace_id, status, is_assessment, plan_only, finished_at)
       VALUES ('run-of-${id}', '${workspace}', 'planned_and_finished', true, true, now());
       INSERT INTO run_phase (id, run_id, kind, status, log_size) VALUES ('plan-of-${id}', 'run-of-${id}', 'plan', 'finished', 0);
       INSERT INTO assessment_result (id, workspace_id, run_id, succeeded, drifted, resources_drifted, resources_undrifted,
                                      checks_passed, checks_failed, checks_errored, checks_unknown)
       VALUES ('${id}', '${workspace}', 'run-of-${id}', true, false, 0, 1, 0, 0, 0, 0);
       UPDATE workspace SET current_assessment_result_id = '${id}' WHERE id = '${workspace}'`,
    );
    return id;
  };

  /** As if an app of its connection were installed somewhere: that comes from a host, not from a request. */
  const withApp = async (one: Tenant): Promise<Tenant> => {
    const [id, client] = [`ghain-${one.name}`, one.params[':oauth_client_id']];
    await workspaces.service.pool.query(
      `INSERT INTO oauth_token (id, oauth_client_id, value) VALUES ('${id}', '${client}', '');
       INSERT INTO github_app (oauth_client_id) VALUES ('${client}');
       INSERT INTO github_app_installation (id, oauth_client_id, installation_id, name, type)
       VALUES ('${id}', '${client}', 7001, '${one.name}-account', 'User');
       INSERT INTO app_manifest (id, organization_id, oauth_client_id, caller_token, asked, expires_at)
       SELECT 'gham-${one.name}', organization_id, 'oc-of-${one.name}', 'none',
              '{"httpUrl":"https://git.test","apiUrl":"https://git.test/api/v3"}', now() + interval '1 hour'
         FROM oauth_client WHERE id = '${client}';`,
    );
    const params = { ...one.params, ':github_app_installation_id': id, ':manifest_id': `gham-${one.name}` };
    return { ...one, params, ids: { ...one.ids, 'github-app-installations': id } };
  };

  /** As if a task had been called in its run, without a service to call. */
  const withStage = async (one: Tenant): Promise<Tenant> => {
    const [stage, result] = [`ts-of-${one.name}`, `taskrs-of-${one.name}`];
    const [evaluation, outcome] = [`poleval-of-${one.name}`, `psout-of-${one.name}`];
    const { ':run_id': run, ':task_id': task } = one.params;
    await workspaces.service.pool.query(
      `INSERT INTO task_stage (id, run_id, stage) VALUES ('${stage}', '${run}', 'post_plan');
       INSERT INTO task_result (id, organization_id, task_stage_id, run_task_id, task_name, task_url, enforcement_level, outcomes)
       SELECT '${result}', organization_id, '${stage}', id, name, url, 'advisory', '[{"description":"${one.name}"}]' FROM run_task WHERE id = '${task}';
       INSERT INTO policy_evaluation (id, organization_id, task_stage_id, kind)
       SELECT '${evaluation}', organization_id, '${stage}', 'opa' FROM run_task WHERE id = '${task}';
       INSERT INTO policy_set_outcome (id, policy_evaluation_id, policy_set_id, policy_set_name, overridable)
       VALUES ('${outcome}', '${evaluation}', 'polset-1', '${one.name}', true);`,
    );
    return {
      ...one,
      params: {
        ...one.params,
        ':task_stage_id': stage,
        ':task_result_id': result,
        ':task_result_outcome_id': `${result}-0`,
        ':policy_evaluation_id': evaluation,
        ':policy_set_outcome_id': outcome,
      },
    };
  };

  const leaked = (text: string, said: string): string[] =>
    canaries.filter((canary) => text.includes(canary) && !said.includes(canary));
  const ask = (client: Client, { method, outside }: Endpoint, path: string, body: object | undefined) => {
    return client[wordOf[method]](outside ? path : `/api/v2${path}`, body);
  };

  // Any body is fine: no request gets far enough for it to be read.
  const bodyOf = (endpoint: Endpoint) =>
    endpoint.body === undefined ? undefined : { data: { type: 'x', attributes: {} } };
  const withIds = operations.filter(
    ({ path, auth, link }) => path.includes('/:') && (auth === 'token' || link !== undefined),
  );

  const walked = slice(withIds, ({ declaration }) => declaration);

  it('cover every operation that names a resource', () => {
    const unknown = withIds.flatMap((endpoint) =>
      parametersOf(endpoint, theirs.params)
        .filter(({ part, key }) => !(key in theirs.params) && !nobodys.includes(part))
        .map(({ key }) => `${endpoint.path}: ${key}`),
    );
    expect(unknown).toEqual([]);
    expect(withIds.length).toBeGreaterThan(isHosted ? 2 : 150);
  });

  /**
   * The paths of an operation with their ids in every place, and in each place with mine, and the same with ids that do
   * not exist.
   */
  function visits(endpoint: Endpoint): { path: string; absent: string }[] {
    const places = parametersOf(endpoint, theirs.params);
    const fill = (choice: readonly ('mine' | 'theirs' | 'absent')[]) => {
      let path = endpoint.path;
      places.forEach(({ part, key }, i) => {
        const of = (choice[i] === 'mine' ? mine : theirs).params[key] ?? '1700000000';
        path = path.replace(part, choice[i] === 'absent' ? absentLike(of) : of);
      });
      return path;
    };
    const choices = 2 ** places.length;
    return Array.from({ length: choices - 1 }, (_, i) => {
      const foreign = places.map((_place, at) => ((i + 1) >> at) % 2 === 1);
      return {
        path: fill(foreign.map((is) => (is ? 'theirs' : 'mine'))),
        absent: fill(foreign.map((is) => (is ? 'absent' : 'mine'))),
      };
    });
  }

  const callers: Readonly<Record<string, () => Client>> = {
    'its owner': () => mine.owner,
    "its organization's token": () => mine.tokens.organization,
    'a team with every right': () => mine.tokens.team,
    'an agent': () => mine.tokens.agent,
    anonymous: () => workspaces.anyone,
  };

  it.each(Object.keys(callers))(
    'are separate in paths: %s is refused like something that does not exist',
    async (name) => {
      const before = await rowsButRefusals(workspaces.databaseUrl);
      const wrong: string[] = [];
      for (const endpoint of walked) {
        for (const { path, absent } of visits(endpoint)) {
          const foreign = await ask(callers[name]!(), endpoint, path, bodyOf(endpoint));
          const nothing = await ask(callers[name]!(), endpoint, absent, bodyOf(endpoint));
          const what = `${endpoint.method} ${path}`;
          const unknown = name === 'anonymous' || name === 'an agent' ? 401 : 404;
          if (foreign.status !== unknown && !(foreign.status === 404 && endpoint.link))
            wrong.push(`${what}: ${foreign.status}`);
          if (foreign.status !== nothing.status || foreign.text !== nothing.text)
            wrong.push(`${what}: unlike ${absent}`);
          wrong.push(...leaked(foreign.text, path).map((canary) => `${what} says ${canary}`));
        }
      }
      expect(wrong).toEqual([]);
      expect(await rowsButRefusals(workspaces.databaseUrl)).toEqual(before);
    },
  );

  const ownPath = (endpoint: Endpoint): string =>
    parametersOf(endpoint, mine.params).reduce(
      (path, { part, key }) => path.replace(part, mine.params[key] ?? 'x'),
      endpoint.path,
    );

  it('answer HEAD for everything that GET answers: the same status and headers, and no body', async () => {
    const wrong: string[] = [];
    const seen: Record<number, number> = {};
    /** The parts that differ from request to request, and the form of a body. */
    const passing = /^(x-request-id|x-ratelimit-.*|date|transfer-encoding|connection|keep-alive)$/;
    const kept = (headers: Record<string, string>) =>
      Object.entries(headers)
        .filter(([name]) => !passing.test(name))
        .sort();
    for (const endpoint of operations.filter(({ method }) => method === 'GET')) {
      const path = `${endpoint.outside ? '' : '/api/v2'}${ownPath(endpoint)}`;
      const isEndless = Object.values(endpoint.answers).some(({ type }) => type === 'text/event-stream');
      const { token } = endpoint.siteAdmin ? workspaces.admin : mine.owner;
      const send = (word: 'get' | 'head') =>
        request(workspaces.server)[word](path).redirects(0).set('Authorization', `Bearer ${token}`);
      const head = await send('head');
      if (isEndless) {
        if (head.status !== 404) wrong.push(`${path}: ${head.status}`);
        continue;
      }
      const whole = await send('get');
      seen[whole.status] = (seen[whole.status] ?? 0) + 1;
      if (head.status !== whole.status) wrong.push(`${path}: ${head.status}, not ${whole.status}`);
      else if (!isDeepStrictEqual(kept(head.headers), kept(whole.headers))) wrong.push(`${path}: other headers`);
      if (head.text) wrong.push(`${path}: a body`);
    }
    expect(wrong).toEqual([]);
    expect(seen[200]).toBeGreaterThan(isHosted ? 2 : 100);
  });

  onceOnly('are separate in bodies: a foreign id gets the same answer as one that does not exist', async () => {
    const rowsOfTheirs = async () =>
      Object.values(await rowsButRefusals(workspaces.databaseUrl))
        .flat()
        .filter((text) => canaries.some((canary) => text.includes(canary)));
    const before = await rowsOfTheirs();
    const wrong: string[] = [];
    const seen: string[] = [];
    const passedOver: string[] = [];
    await mine.owner.post(`workspaces/${mine.params[':workspace_id']}/actions/lock`, {}).expect(200);
    for (const endpoint of operations.filter(({ siteAdmin, auth }) => !siteAdmin && auth === 'token')) {
      for (const slot of idSlots(endpoint, mine)) {
        const what = `${endpoint.method} ${endpoint.path} ${slot.name}`;
        const id = theirs.ids[slot.type];
        if (id === undefined) throw new Error(`${what}: ${slot.type}`);
        const path = ownPath(endpoint);
        const send = async (given: string) => {
          const answer = await ask(mine.owner, endpoint, path, slot.body(given));
          return { status: answer.status, text: answer.text.replaceAll(given, '<id>') };
        };
        const foreign = await send(id);
        const nothing = await send(absentLike(id));
        // Removing what is not there is not an error.
        if (foreign.status < 400 && endpoint.method !== 'DELETE') {
          passedOver.push(what);
        } else if (foreign.text !== nothing.text) {
          wrong.push(`${what}: ${foreign.status} ${foreign.text} unlike ${nothing.status} ${nothing.text}`);
        }
        if (foreign.status !== nothing.status) wrong.push(`${what}: ${foreign.status} unlike ${nothing.status}`);
        seen.push(what);
        wrong.push(...leaked(foreign.text, id).map((canary) => `${what} says ${canary}`));
      }
    }
    expect(wrong).toEqual([]);
    expect(passedOver).toEqual([]);
    expect(seen.length).toBeGreaterThan(40);
    expect(await rowsOfTheirs()).toEqual(before);
  });

  onceOnly('are separate in queries: no filter finds anything of the other tenant', async () => {
    const wrong: string[] = [];
    let asked = 0;
    const lists = slice(
      operations.filter(({ method, siteAdmin, auth }) => method === 'GET' && !siteAdmin && auth === 'token'),
      ({ declaration }) => declaration,
    );
    const see = async (endpoint: Endpoint, query: Record<string, string>) => {
      asked++;
      const path = `${ownPath(endpoint)}?${new URLSearchParams(query)}`;
      const { status, body } = await mine.owner.get(path);
      if (status >= 500) wrong.push(`${path}: ${status}`);
      // Refusals, links and the answer about a name repeat the request.
      const shown = status === 200 ? JSON.stringify([body.data, body.included]) : '';
      const said = endpoint.path.endsWith('/validation') ? Object.values(query).join(' ') : '';
      wrong.push(...leaked(shown, said).map((canary) => `${path} says ${canary}`));
    };
    const { organizations, workspaces: source, teams, projects, users, tags } = theirs.ids;
    const values = [
      organizations,
      source,
      teams,
      projects,
      users,
      tags,
      'zebra-web',
      'zebra-owner',
      'zebra-pool',
      'zebra-tag',
    ];
    for (const endpoint of lists) {
      const names = Object.keys(endpoint.query).map((name) => name.replace('[i]', '[0]'));
      for (const name of names) {
        for (const value of values) await see(endpoint, { [name]: value! });
      }
      const both = names.filter((name) => name.endsWith('[name]'));
      if (both.length > 1) {
        const of = (name: string) => (name.includes('organization') ? 'zebra' : 'zebra-web');
        await see(endpoint, Object.fromEntries(both.map((name) => [name, of(name)])));
      }
      if (endpoint.include.length > 0) await see(endpoint, { include: endpoint.include.join(',') });
      await see(endpoint, {});
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(lists.length);
  });

  it('show a member without rights no more than the organization and its people, and let them change nothing', async () => {
    expect(await reached(theirs.plain)).toEqual(declared(ofMembers));
  });

  it('show a session that was idle for too long only that the organization exists', async () => {
    const credentials = resource('sessions', { username: theirs.owner.username, password: PASSWORD });
    const { body } = await workspaces.anyone.post('session', credentials).expect(201);
    const session = workspaces.as(body.data.attributes.token);
    await theirs.owner.patch('organizations/zebra', resource('organizations', { 'session-timeout': 1 })).expect(200);
    await session.get(`teams/${theirs.ids.teams}`).expect(200);
    nowMs += 2 * 60_000;
    expect(await reached(session)).toEqual(declared(ofTheTired));
  });

  const declared = (ledger: readonly string[]) =>
    ledger.filter((line) => walked.some(({ method, path }) => new RegExp(`^${method} ${path}(:? |: |$)`).test(line)));

  /** The operations that answer `me` although the path names `theirs`; none of them may change anything. */
  async function reached(client: Client): Promise<string[]> {
    const before = await rowsButRefusals(workspaces.databaseUrl);
    const found: string[] = [];
    for (const endpoint of walked) {
      const path = parametersOf(endpoint, theirs.params).reduce(
        (text, { part, key }) => text.replace(part, theirs.params[key] ?? '1700000000'),
        endpoint.path,
      );
      const { status, text } = await ask(client, endpoint, path, bodyOf(endpoint));
      const told = Object.entries(theirs.params).filter(
        ([, id]) => id !== 'zebra' && text.includes(id) && !path.includes(id),
      );
      const what = told.map(([key]) => ` ${key}`).join('');
      if (status < 400) found.push(`${endpoint.method} ${endpoint.path}${what}`);
      else if (![403, 404].includes(status)) found.push(`${endpoint.method} ${endpoint.path}: ${status}`);
    }
    expect(await rowsButRefusals(workspaces.databaseUrl)).toEqual(before);
    return found;
  }
});
