import { createHash } from 'node:crypto';
import type { Import } from './organization';
import type { Resource } from './remote';

/** Copies the states of a workspace in the order of their serials; those that are there stay. */
export async function copyStates(
  job: Import,
  organization: string,
  name: string,
  to: string | undefined,
): Promise<void> {
  const path = `state-versions?filter%5Borganization%5D%5Bname%5D=${organization}&filter%5Bworkspace%5D%5Bname%5D=${name}`;
  const serialOf = (version: Resource) => Number(version.attributes.serial);
  const all = (await job.from.list(path)).sort((a, b) => serialOf(a) - serialOf(b));
  const present = new Set((to ? await job.to.list(path) : []).map(serialOf));
  const newest = Math.max(-1, ...present);
  const wanted = job.history ? all : all.slice(-1);
  const here = wanted.filter((version) => present.has(serialOf(version))).length;
  job.report.skip('state version', here);
  const missing = wanted.filter((version) => !present.has(serialOf(version)));
  const late = missing.filter((version) => serialOf(version) < newest);
  if (late.length > 0) {
    job.report.leave(`${organization}/${name}: ${late.length} states are older than the newest here and were left out`);
  }
  const next = missing.filter((version) => serialOf(version) > newest);
  job.report.add('state version', next.length);
  if (job.plan || next.length === 0) return;
  await job.to.act(`workspaces/${to}/actions/lock`, { reason: 'import' });
  try {
    for (const version of next) await copyState(job, version, String(to));
  } finally {
    await job.to.act(`workspaces/${to}/actions/unlock`);
  }
}

async function copyState(job: Import, version: Resource, to: string): Promise<void> {
  const url = version.attributes['hosted-state-download-url'];
  if (typeof url !== 'string') {
    job.report.leave(`state version ${version.id}: its content is gone at the source`);
    return;
  }
  const bytes = await job.from.download(url);
  const lineage = lineageOf(bytes);
  const made = await job.to.create(`workspaces/${to}/state-versions`, {
    type: 'state-versions',
    attributes: {
      serial: version.attributes.serial,
      md5: createHash('md5').update(bytes).digest('hex'),
      ...(lineage ? { lineage } : {}),
    },
  });
  await job.to.upload(String(made.attributes['hosted-state-upload-url']), bytes);
}

function lineageOf(bytes: Buffer): string | undefined {
  try {
    return (JSON.parse(bytes.toString('utf8')) as { lineage?: string }).lineage;
  } catch {
    return undefined;
  }
}
