import { createHash } from 'node:crypto';
import { beforeAll, beforeEach } from '@jest/globals';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { type Client, resource, startWorkspaces } from './start-workspaces';

/** A state file with a serial. */
export const stateOf = (serial: number): Buffer =>
  Buffer.from(
    JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: 'l-1', outputs: {}, resources: [] }),
  );

/** The same with resources, and a lineage. */
export const managing = (serial: number, count: number, lineage = 'l-1'): Buffer => {
  const resources = Array.from({ length: count }, (_, n) => ({
    mode: 'managed',
    type: 'terraform_data',
    name: `crane${n}`,
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [{ schema_version: 0, attributes: { id: `${serial}-${n}` } }],
  }));
  return Buffer.from(JSON.stringify({ ...JSON.parse(stateOf(serial).toString()), lineage, resources }));
};

/** Makes a state file the current one of a workspace. */
export async function pushState(client: Client, workspaceId: string, state: Buffer): Promise<void> {
  const { serial, lineage } = JSON.parse(state.toString()) as { serial: number; lineage: string };
  const md5 = createHash('md5').update(state).digest('hex');
  const body = resource('state-versions', { serial, md5, lineage, state: state.toString('base64') });
  await client.post(`workspaces/${workspaceId}/actions/lock`, {}).expect(200);
  await client.post(`workspaces/${workspaceId}/state-versions`, body).expect(201);
  await client.post(`workspaces/${workspaceId}/actions/unlock`, {}).expect(200);
}

/** The same with an output that contains a string. */
export const stateWithOutput = (serial: number, value: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      ...JSON.parse(stateOf(serial).toString()),
      outputs: { value: { value, type: 'string' } },
    }),
  );

/** A service with an organization `acme`; every test has a new workspace in it, and a worker that has not started. */
export function startRuns(options: Parameters<typeof startWorkspaces>[0] = {}) {
  const workspaces = startWorkspaces(options);
  const { admin } = workspaces;
  const show = async (id: string) => (await admin.get(`runs/${id}`).expect(200)).body.data;
  const runs = {
    workspaces,
    admin,
    /** The number of tests so far. */
    counter: 0,
    /** Id of the test's workspace. */
    workspace: '',
    worker: undefined as unknown as ReturnType<typeof fakeWorker>,
    show,
    statusOf: async (id: string): Promise<string> => (await show(id)).attributes.status,
    act: (id: string, verb: string, body: object = {}) => admin.post(`runs/${id}/actions/${verb}`, body),
    /** A run of the workspace; returns its id. */
    made: async (attributes: object = {}, configuration?: string): Promise<string> =>
      (await startRun(admin, runs.workspace, attributes, configuration).expect(201)).body.data.id,
    /** The workspace as it is shown. */
    lockOf: async () => (await admin.get(`workspaces/${runs.workspace}`).expect(200)).body.data,
    /** A run of a new configuration, with a live worker. */
    async started(attributes: object = {}): Promise<string> {
      await configured(workspaces, runs.workspace);
      await runs.worker.claim();
      return runs.made(attributes);
    },
  };
  beforeAll(async () => {
    await workspaces.organization('acme');
  });
  beforeEach(async () => {
    ({ id: runs.workspace } = await workspaces.workspace('acme', `web-${++runs.counter}`));
    // Jobs that earlier tests left behind are not for this one.
    await workspaces.service.pool.query('DELETE FROM run; DELETE FROM run_worker');
    runs.worker = fakeWorker(workspaces);
  });
  return runs;
}
