import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IssuerStandIn, newKey } from '../../../test/stand-ins/jwt';
import { actionsClaims, gitlabClaims } from '../../../test/stand-ins/pipelines';
import { startSecrets } from '../../../test/start-secrets';

const guide = readFileSync(path.resolve(__dirname, '../../../../../docs/guides/pipeline-login.md'), 'utf8');
/** The roles as the guide prints them. */
const [actions, gitlab] = [...guide.matchAll(/<<'END'\n(.*?)\nEND/gs)].map(([, body]) => JSON.parse(body!) as object);

describe('pipelines that log in as the guide says', () => {
  const issuer = new IssuerStandIn();
  const secrets = startSecrets();
  beforeAll(async () => {
    issuer.rotate('RS256');
    await issuer.start();
    for (const [mount, role] of [
      ['actions', actions],
      ['gitlab', gitlab],
    ] as const) {
      await secrets.root.write(`sys/auth/${mount}`, { type: 'jwt' }).expect(204);
      const config = { oidc_discovery_url: issuer.address, bound_issuer: issuer.address };
      await secrets.root.write(`auth/${mount}/config`, config).expect(204);
      await secrets.root.write(`auth/${mount}/role/deploy`, role).expect(204);
    }
  });
  afterAll(() => issuer.stop());
  const login = (mount: string, claims: object, header = {}, key = issuer.key) =>
    secrets.anonymous.write(`auth/${mount}/login`, { role: 'deploy', jwt: issuer.sign({ ...claims }, header, key) });

  it('get a token for the run, known by the id of its repository or project', async () => {
    const one = await login('actions', actionsClaims).expect(200);
    expect(one.body.auth.metadata).toEqual({ role: 'deploy', repository: 'acme/shop', actor: 'ada', run_id: '1001' });
    const two = await login('gitlab', gitlabClaims).expect(200);
    expect(two.body.auth.metadata).toEqual({ role: 'deploy', project: 'acme/shop', user: 'ada', pipeline: '574' });
    for (const [{ body }, name] of [
      [one, '74'],
      [two, '20'],
    ] as const) {
      const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
      expect(entity.body.data.aliases[0].name).toBe(name);
    }
  });

  it.each<[string, string, object]>([
    ['a pull request', 'actions', { ref: 'refs/pull/7/merge', event_name: 'pull_request', environment: undefined }],
    ['another branch', 'actions', { ref: 'refs/heads/main2' }],
    ['another environment', 'actions', { environment: 'staging' }],
    ['another repository that now has the name', 'actions', { repository_id: '99' }],
    ['another owner that now has the name', 'actions', { repository_owner_id: '99' }],
    ['another owner’s audience', 'actions', { aud: 'https://github.com/acme' }],
    ['an unprotected branch', 'gitlab', { ref_protected: 'false' }],
    ['a tag with the name of the branch', 'gitlab', { ref_type: 'tag' }],
    ['another project that now has the name', 'gitlab', { project_id: '21' }],
    ['another issuer', 'gitlab', { iss: 'https://gitlab.com' }],
    ['a run that has ended', 'gitlab', { exp: 1_000_000_000 }],
  ])('are refused for %s', async (_what, mount, claims) => {
    const sound = mount === 'actions' ? actionsClaims : gitlabClaims;
    await login(mount, { ...sound, ...claims }).expect(400);
  });

  it('are refused with a key that the issuer does not publish, and with none', async () => {
    const other = newKey('RS256');
    await login('actions', actionsClaims, { kid: issuer.key.kid }, other).expect(400);
    await login('actions', actionsClaims, { alg: 'none' }).expect(400);
  });

  it('of one host cannot log in with the role of the other host', async () => {
    await login('actions', gitlabClaims).expect(400);
    await login('gitlab', actionsClaims).expect(400);
  });
});
