import { beforeAll, describe, expect, it } from '@jest/globals';
import { Bell } from '@keystead/postgres';
import type { Database } from '../src/kernel/database/database';
import { databaseSource } from '../src/worker/job/job-source';
import { configured, fetchUrl, startRun } from './configurations';
import { startWorkspaces } from './start-workspaces';

describe('the log of a run on a worker of the service', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  beforeAll(() => workspaces.organization('acme'));

  it('contains each byte once, even if the answer to a commit is lost', async () => {
    const { id: workspace } = await workspaces.workspace('acme', 'stones');
    await configured(workspaces, workspace);
    const { id } = (await startRun(admin, workspace).expect(201)).body.data;
    const { db, env } = workspaces.service;
    let losses = 0;
    const transaction: Database['transaction'] = async (work) => {
      const result = await db.transaction(work);
      if (losses-- > 0) throw new Error('the connection was lost');
      return result;
    };
    const source = databaseSource({
      db: { ...db, transaction },
      keyring: env.keyring,
      workerId: 'worker-1',
      leaseSeconds: 60,
      versions: ['1.11.4'],
      secrets: undefined,
      issuer: 'https://workspaces.test',
      now: Date.now,
      bell: new Bell(),
    });
    const job = (await source.claim(new AbortController().signal))!;
    expect(job.runId).toBe(id);
    await source.started(job);
    const kept = async (text: string) => {
      losses = 1;
      await expect(source.appendLog(job, Buffer.from(text))).rejects.toThrow('lost');
      await source.appendLog(job, Buffer.from(text));
    };
    await kept('one ');
    await kept('two ');
    // A standby that was promoted does not have the last piece.
    const { pool } = workspaces.service;
    await pool.query(`DELETE FROM log_chunk WHERE start = 4`);
    await pool.query(`UPDATE run_phase SET log_size = 4 WHERE log_size = 8`);
    await source.appendLog(job, Buffer.from('2 '));
    // The last piece was stored without an answer, so it comes again with the end.
    losses = 1;
    await expect(source.appendLog(job, Buffer.from('three '))).rejects.toThrow('lost');
    const log = { bytes: Buffer.from('three four') };
    expect(await source.finishPlan(job, { outcome: 'errored', errorMessage: 'bad', log })).toBe(true);
    const { attributes } = (await admin.get(`runs/${id}/plan`).expect(200)).body.data;
    const { body } = await fetchUrl(workspaces, attributes['log-read-url']).expect(200);
    expect(String(body)).toBe('\x02one 2 three four\x03');
  });
});
