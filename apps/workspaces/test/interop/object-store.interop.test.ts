import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { keepsBlobs } from '../blob-store-contract';
import { startWorkspaces } from '../start-workspaces';

const program = 'moto_server';
const bucket = 'keystead-states';
const credentials = { accessKeyId: 'interop', secretAccessKey: 'interop-secret' };

// An object store that we did not write: moto's server (PyPI: moto[server]).
describe('blobs in a foreign object store', () => {
  const env: Record<string, string> = {};
  let server: ChildProcess | undefined;
  let client: S3Client | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const started = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    const [missing] = await Promise.race([once(started, 'error'), once(started, 'spawn')]);
    if (missing) {
      process.stderr.write(`skipped: ${program} is not on this machine\n`);
      return;
    }
    server = started;
    const endpoint = `http://127.0.0.1:${port}`;
    client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
    await retried(() => client!.send(new CreateBucketCommand({ Bucket: bucket })));
    env.WORKSPACES_BLOB_STORE = `s3://${bucket}/blobs?endpoint=${endpoint}`;
    env.WORKSPACES_BLOB_STORE_ACCESS_KEY_ID = credentials.accessKeyId;
    env.WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY = credentials.secretAccessKey;
  });
  afterAll(() => {
    client?.destroy();
    server?.kill();
  });
  const workspaces = startWorkspaces({ env });
  // Without the foreign store the same holds of the database.
  keepsBlobs(workspaces, async () => {
    if (!client) return workspaces.service.db.prisma.blobChunk.count();
    const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'blobs/' }));
    return page.KeyCount ?? 0;
  });
});

async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}
