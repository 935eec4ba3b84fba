import { beforeAll, beforeEach } from '@jest/globals';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { startWorkspaces } from './start-workspaces';

/** A state file with a serial. */
export const stateOf = (serial: number): Buffer =>
  Buffer.from(
    JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: 'l-1', outputs: {}, resources: [] }),
  );

/** The same with an output that contains a string. */
export const stateWithOutput = (serial: number, value: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      ...JSON.parse(stateOf(serial).toString()),
      outputs: { value: { value, type: 'string' } },
    }),
  );

/** A service with an organization `acme`; every test has a new workspace in it, and a worker that has not begun. */
export function startRuns(options: Parameters<typeof startWorkspaces>[0] = {}) {
  const workspaces = startWorkspaces(options);
  const { admin } = workspaces;
  const show = async (id: string) => (await admin.get(`runs/${id}`).expect(200)).body.data;
  const runs = {
    workspaces,
    admin,
    /** How many tests there were. */
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
