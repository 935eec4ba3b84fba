import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { findProgram, freePort } from '@keystead/testing';
import { keepsBlobs } from '../blob-store-contract';
import { startWorkspaces } from '../start-workspaces';

const program = 'moto_server';
const bucket = 'keystead-states';
const credentials = { accessKeyId: 'interop', secretAccessKey: 'interop-secret' };

const whereThere = findProgram(program) ? describe : describe.skip;

// An object store that we did not write: moto's server (PyPI: moto[server]).
whereThere('blobs in a foreign object store', () => {
  const env: Record<string, string> = {};
  let server: ChildProcess | undefined;
  let client: S3Client | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const started = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    await once(started, 'spawn');
    server = started;
    const endpoint = `http://127.0.0.1:${port}`;
    client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
    await retried(started, () => client!.send(new CreateBucketCommand({ Bucket: bucket })));
    env.WORKSPACES_BLOB_STORE = `s3://${bucket}/blobs?endpoint=${endpoint}`;
    env.WORKSPACES_BLOB_STORE_ACCESS_KEY_ID = credentials.accessKeyId;
    env.WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY = credentials.secretAccessKey;
  });
  afterAll(() => {
    client?.destroy();
    server?.kill();
  });
  const workspaces = startWorkspaces({ env });
  // The mark that names the database that may delete there is not a blob.
  keepsBlobs(workspaces, async () => {
    const page = await client!.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'blobs/blob-' }));
    return page.KeyCount ?? 0;
  });
});

/** Waits until the store works: the program takes time to start. */
async function retried<T>(program: ChildProcess, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (program.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
