import { generateKeyPairSync } from 'node:crypto';
import { beforeAll } from '@jest/globals';
import { codeFor, counterAt, fromBase32 } from '@keystead/auth';
import type { World } from './at-once-examples';
import { archiveOf, configured, putUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { PASSWORD, type Workspaces } from './start-workspaces';

const organization = 'arena';

/** The clients and helpers of the examples of one test file, in a separate organization. */
export function worldOf(workspaces: Workspaces, as: World['as']): World {
  let made = 0;
  let archive: Buffer = Buffer.alloc(0);
  const worker = fakeWorker(workspaces);
  beforeAll(async () => {
    archive = await archiveOf();
    await workspaces.organization(organization);
  });
  const world: World = {
    root: (method, path, body) => as(workspaces.admin.token!, method, path, body),
    as,
    fresh: () => `thing-${++made}`,
    async person() {
      const { id, username, token } = await workspaces.person(world.fresh());
      return { id, username, token: token! };
    },
    organization,
    sshKey: String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
    password: PASSWORD,
    codeOf: (secret) =>
      codeFor(
        { key: fromBase32(secret), algorithm: 'SHA1', digits: 6, periodSeconds: 30 },
        counterAt(workspaces.service.env.now(), 30),
      ),
    configuration: (workspaceId) => configured(workspaces, workspaceId),
    upload: (url) => putUrl(workspaces, url, archive).expect(200),
    get archive() {
      return archive;
    },
    async run(how) {
      // Jobs left behind by other examples must not interfere.
      await workspaces.service.pool.query('DELETE FROM run; DELETE FROM run_worker');
      // The newest version may come from another example, and no worker has it.
      const pinned = { 'infra-version': '1.11.4' };
      const { id: workspaceId } = await workspaces.workspace(organization, world.fresh(), pinned);
      await configured(workspaces, workspaceId);
      await worker.claim();
      const { id } = (await startRun(workspaces.admin, workspaceId).expect(201)).body.data;
      if (how === 'planned') await worker.plan({ jsonPlan: Buffer.from('{}') });
      else await worker.start(await worker.take('plan'));
      if (how === 'canceled long ago') {
        await world.root('POST', `runs/${id}/actions/cancel`, {});
        await workspaces.service.pool.query('UPDATE run SET force_cancel_at = now() WHERE id = $1', [id]);
      }
      return { id, workspaceId };
    },
  };
  return world;
}
