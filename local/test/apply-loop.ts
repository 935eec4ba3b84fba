import { createHash } from 'node:crypto';
import { call, document, smallState } from '@keystead/testing';

/** A state that the service has acknowledged. */
export interface Acknowledged {
  readonly version: string;
  readonly md5: string;
}

/** The history of an apply loop. */
export interface Applied {
  readonly workspace: string;
  readonly acknowledged: readonly Acknowledged[];
  /** Calls without an answer, or with a fault. */
  readonly unanswered: number;
  /** Calls that were refused although they should not have been. */
  readonly refused: readonly string[];
}

const retryMs = 100;
const patienceMs = 300_000;
type Version = { data: { id: string; attributes: Record<string, string> } };

/** The content of the state with a serial, so that it can be recognized. */
export const noteOf = (workspace: string, serial: number): string =>
  `${workspace} ${serial} ${'x'.repeat(serial % 5000)}`;

/**
 * Applies to one workspace repeatedly, with the calls and retries of the real tool in local execution: lock, create a
 * state version, upload in both formats, unlock. Unanswered requests are repeated until there is an answer.
 */
export async function applyLoop(
  origin: string,
  token: string,
  workspace: string,
  goesOn: (acknowledged: number) => boolean,
): Promise<Applied> {
  const acknowledged: Acknowledged[] = [];
  const refused: string[] = [];
  let unanswered = 0;
  const at = `${origin}/api/v2/workspaces/${workspace}`;

  /** Repeats a request until the answer is not a fault. Also returns whether earlier attempts may have been lost. */
  async function requestUntilAnswered(url: string, key: string | undefined, method: string, body: unknown) {
    const until = Date.now() + patienceMs;
    for (let again = false; ; ) {
      const answer = await call(url, key, method, body);
      if (answer && answer.status > 0 && answer.status < 500) return { ...answer, again };
      // A request that reached no service had no effect.
      if (answer?.status !== 0) {
        again = true;
        unanswered++;
      }
      if (Date.now() > until) {
        const last = answer ? `${answer.status} ${JSON.stringify(answer.body)}` : 'none';
        throw new Error(`${method} ${url} was not answered for ${patienceMs / 1000} s; the last answer: ${last}`);
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
  const expectStatus = (what: string, status: number, wanted: readonly number[]) => {
    if (!wanted.includes(status)) refused.push(`${what} ${status}`);
  };

  for (let serial = 1; goesOn(acknowledged.length); serial++) {
    const lock = await requestUntilAnswered(`${at}/actions/lock`, token, 'POST', { reason: 'apply' });
    // Only this loop locks the workspace. If it is already locked, an earlier call of this loop has succeeded although
    // its answer was lost.
    expectStatus('lock', lock.status, lock.again ? [200, 409] : [200]);
    const { bytes, md5 } = smallState(serial, noteOf(workspace, serial));
    const body = document('state-versions', { serial, md5, lineage: 'one' });
    const announced = await requestUntilAnswered(`${at}/state-versions`, token, 'POST', body);
    expectStatus('announce', announced.status, [201]);
    const { data } = announced.body as Version;
    const links = data?.attributes ?? {};
    const uploads = await Promise.all(
      ['hosted-state-upload-url', 'hosted-json-state-upload-url'].map((name) =>
        requestUntilAnswered(links[name]!, undefined, 'PUT', bytes),
      ),
    );
    // If the link was already used, an earlier request of this loop has used it although its answer was lost.
    for (const upload of uploads) expectStatus('upload', upload.status, upload.again ? [200, 409] : [200]);
    if (uploads[0]!.status === 200 || uploads[0]!.status === 409) acknowledged.push({ version: data.id, md5 });
    const unlock = await requestUntilAnswered(`${at}/actions/unlock`, token, 'POST', undefined);
    expectStatus('unlock', unlock.status, unlock.again ? [200, 409] : [200]);
  }
  return { workspace, acknowledged, unanswered, refused };
}

/** The acknowledged states that are missing, or differ from what was sent. */
export async function lostOf(origin: string, token: string, { acknowledged }: Applied): Promise<string[]> {
  const lost: string[] = [];
  for (const { version, md5 } of acknowledged) {
    const shown = await call(`${origin}/api/v2/state-versions/${version}`, token, 'GET');
    const link = (shown?.body as Version | undefined)?.data?.attributes['hosted-state-download-url'];
    const bytes = link ? Buffer.from(await (await fetch(link)).arrayBuffer()) : undefined;
    if (!bytes || createHash('md5').update(bytes).digest('hex') !== md5) lost.push(version);
  }
  return lost;
}
