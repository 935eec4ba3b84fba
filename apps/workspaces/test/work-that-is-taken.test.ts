import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jobsOf } from '../src/housekeeping';
import { type OwnedWork, Turns } from '../src/resources/connections/git-hosts/turns';
import { FakeGitea } from './fake-gitea';
import { FakeGithub } from './fake-github';
import { resource, startWorkspaces } from './start-workspaces';

/** The event during a call to a host, and whether the host then refuses. */
class Meanwhile {
  refuses = false;
  private act: (() => Promise<unknown>) | undefined;

  once(act: () => Promise<unknown>): void {
    this.act = act;
  }

  get isOver(): boolean {
    return this.act === undefined;
  }

  async answer(usual: () => Promise<readonly [number, unknown]>): Promise<readonly [number, unknown]> {
    const { act } = this;
    this.act = undefined;
    await act?.();
    return this.refuses ? [422, { message: 'no' }] : usual();
  }
}

class Gitea extends FakeGitea {
  constructor(private readonly meanwhile: Meanwhile) {
    super();
  }

  protected override respond(req: IncomingMessage, text: string): Promise<readonly [number, unknown]> {
    return this.meanwhile.answer(async () =>
      req.url === '/login/oauth/access_token'
        ? [200, { access_token: 'new', expires_in: 3600 }]
        : super.respond(req, text),
    );
  }
}

class Github extends FakeGithub {
  constructor(private readonly meanwhile: Meanwhile) {
    super();
  }

  protected override respond(req: IncomingMessage, text: string): Promise<readonly [number, unknown]> {
    return this.meanwhile.answer(() => super.respond(req, text));
  }
}

interface WorkOfJob {
  readonly table: string;
  readonly due?: string;
  readonly claim?: string;
  readonly where?: string;
  /** Creates a row if the table has none. */
  readonly make?: string;
  /** The result of the job is stored, even if another worker has claimed the row since. */
  readonly isFact?: boolean;
}

/** The jobs that call hosts, by their names, and the rows that are their work. */
const works: Readonly<Record<string, WorkOfJob>> = {
  'process webhook deliveries': {
    table: 'vcs_delivery',
    where: "state = 'waiting'",
    make: `INSERT INTO vcs_delivery (id, repository_id, delivery_id, events) SELECT 'vd-1', id, 'due', '[]' FROM vcs_repository
           ON CONFLICT (id) DO UPDATE SET state = 'waiting', attempts = 0`,
  },
  'sync repositories': { table: 'vcs_repository' },
  'find app installations': { table: 'github_app', due: 'look_at' },
  'renew Git host tokens': {
    table: 'oauth_token',
    due: 'renew_at',
    claim: 'renew_claim',
    where: 'refresh_token IS NOT NULL',
    make: 'UPDATE oauth_token SET renew_attempts = 0 WHERE refresh_token IS NOT NULL',
    isFact: true,
  },
  'report commit statuses': {
    table: 'ingress_attributes',
    due: 'status_at',
    claim: 'status_claim',
    make: 'UPDATE ingress_attributes SET status_sent = NULL, status_open = true, pull_request_number = 1',
  },
  'report passing statuses of commits without a run': {
    table: 'vcs_passing',
    make: `INSERT INTO vcs_passing (workspace_id, repository_id, commit, number) SELECT w.id, v.id, 'due', 1 FROM vcs_repository v, workspace w
           ON CONFLICT DO NOTHING`,
  },
  'comment on pull requests': {
    table: 'vcs_comment',
    make: `INSERT INTO vcs_comment (repository_id, number) SELECT id, 1 FROM vcs_repository
           ON CONFLICT (repository_id, number) DO UPDATE SET digest = NULL, attempts = 0`,
  },
};

/** The effect of the last call of `each`: the row that was claimed, and the claim that was extended. */
interface Done {
  readonly due: OwnedWork;
  readonly keep: ((due: OwnedWork) => Promise<unknown>) | undefined;
}

describe('claimed work at Git hosts', () => {
  const meanwhile = new Meanwhile();
  const hosts = { gitea: new Gitea(meanwhile), github: new Github(meanwhile) };
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const query = async (text: string) => (await workspaces.service.pool.query(text)).rows;
  const jobs = () => {
    const { db, env, log } = { ...workspaces.service, log: { warn: () => undefined } as never };
    const vcs = {
      reach: env.vcsReach!,
      publicUrl: env.publicUrl,
      pollSeconds: 3600,
      uploads: env,
      settings: () => env.settings(),
    };
    const parts = {
      keyring: env.keyring,
      publicUrl: env.publicUrl,
      consoleIdleMinutes: 60,
      outage: undefined as never,
    };
    const reach = { notificationReach: env.notificationReach, mailer: env.mailer };
    const now = () => Date.now();
    return jobsOf(db, { ...parts, ...reach, now, clockTrouble: () => undefined, log, vcs }).filter(
      ({ turns }) => turns,
    );
  };
  const sql = ({ table, due = 'next_at', claim = 'claim', where = 'true' }: WorkOfJob) => ({
    set: (at: string) => query(`UPDATE ${table} SET ${due} = ${at} WHERE ${where}`),
    take: () => query(`UPDATE ${table} SET ${claim} = ${claim} + 1, ${due} = '2100-01-01Z' WHERE ${where}`),
    rows: () =>
      query(`SELECT ${due} <= now() AS is_due, ${due}::text AS at FROM ${table} WHERE ${where}`) as Promise<
        { is_due: boolean; at: string }[]
      >,
  });
  /** Processes one due row, and runs something else during the call to the host. */
  const run = async (name: string, refuses: boolean, act: (done: Done) => Promise<unknown>): Promise<Done> => {
    const work = works[name]!;
    if (work.make) await query(work.make);
    await sql(work).set('to_timestamp(0)');
    let done: Done | undefined;
    const { each } = Turns.prototype;
    const spy = jest.spyOn(Turns.prototype, 'each').mockImplementation(function (this: Turns, _most, take, work, keep) {
      const noted = (due: never) => {
        done = { due, keep: keep as never };
        return work(due);
      };
      return each.call(this, 1, take as never, noted as never, keep as never);
    });
    meanwhile.refuses = refuses;
    meanwhile.once(() => act(done!));
    const job = jobs().find((one) => one.name === name)!;
    await job.run();
    await job.turns!.settled();
    spy.mockRestore();
    expect(meanwhile.isOver).toBe(true);
    return done!;
  };

  beforeAll(async () => {
    await Promise.all(Object.values(hosts).map((host) => host.start()));
    hosts.gitea.branches.set('main', hosts.gitea.commit('Begin'));
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    const connect = async (attributes: object) =>
      (
        await workspaces.admin
          .post('organizations/acme/oauth-clients', resource('oauth-clients', attributes))
          .expect(201)
      ).body.data;
    const { origin } = hosts.gitea;
    const client = await connect({
      'service-provider': 'gitea',
      'http-url': origin,
      'api-url': `${origin}/api/v1`,
      'oauth-token-string': 'of-the-host',
    });
    await connect({
      'service-provider': 'github_app',
      'http-url': hosts.github.origin,
      'api-url': hosts.github.origin,
      key: hosts.github.appId,
      'private-key': hosts.github.privateKey,
    });
    const { id } = client.relationships['oauth-tokens'].data[0];
    const repo = { identifier: 'team/net', 'oauth-token-id': id };
    const workspace = resource('workspaces', { name: 'net', 'queue-all-runs': true, 'vcs-repo': repo });
    await workspaces.admin.post('organizations/acme/workspaces', workspace).expect(201);
    const cell = { table: 'oauth_token', row: id, column: 'refresh_token' };
    const refreshToken = new Uint8Array(workspaces.service.env.keyring.seal(Buffer.from('again'), cell));
    await workspaces.service.db.prisma.oauthToken.update({ where: { id }, data: { refreshToken } });
    await run('sync repositories', false, async () => undefined);
  });
  afterAll(() => {
    for (const host of Object.values(hosts)) host.stop();
  });

  it('is all tested here', () => {
    expect(
      jobs()
        .map(({ name }) => name)
        // Jobs that call no Git host; run-tasks.test.ts, modules-from-git.test.ts and policy-evaluations.test.ts test
        // them with several nodes.
        .filter(
          (name) =>
            ![
              'perform run tasks',
              'end policy evaluations that nothing judges',
              'publish versions from repositories',
            ].includes(name),
        )
        .sort(),
    ).toEqual(Object.keys(works).sort());
  });

  const cases = Object.keys(works).flatMap((name) => [
    [name, 'answers', false] as const,
    [name, 'refuses', true] as const,
  ]);

  it.each(cases)('is not overwritten by an earlier claim: %s, when the host %s', async (name, _, refuses) => {
    const work = works[name]!;
    await run(name, refuses, () => sql(work).take());
    const [row, ...others] = await sql(work).rows();
    expect(others).toEqual([]);
    const isFact = work.isFact === true && !refuses;
    expect(row?.at.startsWith('2100')).toBe(!isFact);
  });

  it.each(cases)(
    'stays due if it becomes due again in the meantime: %s, when the host %s',
    async (name, _, refuses) => {
      const work = works[name]!;
      await run(name, refuses, () => sql(work).set("'2001-01-01Z'"));
      const isFact = work.isFact === true && !refuses;
      expect((await sql(work).rows()).every(({ is_due }) => is_due)).toBe(!isFact);
    },
  );

  it.each(cases)('is no longer claimed once it has ended: %s, when the host %s', async (name, _, refuses) => {
    const work = works[name]!;
    const done = await run(name, refuses, async () => undefined);
    const before = await sql(work).rows();
    await done.keep?.(done.due);
    expect(await sql(work).rows()).toEqual(before);
  });

  it('stays claimed while it continues, if it may take long', async () => {
    const kept: string[] = [];
    for (const [name, work] of Object.entries(works)) {
      await run(name, false, async ({ due, keep }) => {
        if (!keep) return;
        await sql(work).set("now() + interval '1 second'");
        await keep(due);
        const [row] = await sql(work).rows();
        if (Date.parse(row!.at) > Date.now() + 20_000) kept.push(name);
      });
    }
    expect(kept).toEqual(['process webhook deliveries', 'sync repositories']);
  });
});
