import { setTimeout as sleep } from 'node:timers/promises';
import { call, document } from '@keystead/testing';

/** The history of a loop of remote runs. */
export interface Ran {
  readonly workspace: string;
  /** The number of runs by outcome. */
  readonly ended: Readonly<Record<string, number>>;
  /** Runs that reported `applied` but whose state is missing. */
  readonly lost: readonly string[];
  /** Runs that did not end. */
  readonly stuck: readonly string[];
}

const patienceMs = 180_000;
const finals = ['applied', 'errored', 'canceled', 'discarded', 'planned_and_finished'];

type Document = { data: { id: string; attributes: Record<string, unknown>; relationships: Record<string, never> } };
type Outputs = { data: { attributes: { name: string; value: unknown } }[] };

/** The configuration to apply: its only output is the given number. */
export const numbered = `
variable "n" { type = number }
resource "terraform_data" "n" { input = var.n }
output "n" { value = terraform_data.n.output }
`;

/**
 * Applies increasing numbers to one workspace with remote runs. Unanswered requests are repeated: if the answer to the
 * creation of a run is lost, the run still ends like every other run, and then the next run is created.
 */
export async function runLoop(
  origin: string,
  token: string,
  workspace: string,
  options: { archive: Buffer; goesOn: (applied: number) => boolean },
): Promise<Ran> {
  const api = `${origin}/api/v2`;
  const ended: Record<string, number> = {};
  const lost: string[] = [];
  const stuck: string[] = [];

  async function requestUntilAnswered<T>(
    url: string,
    key: string | undefined,
    method: string,
    body?: unknown,
  ): Promise<T> {
    const until = Date.now() + patienceMs;
    for (;;) {
      const answer = await call(url, key, method, body).catch(() => undefined);
      if (answer && answer.status >= 200 && answer.status < 300) return answer.body as T;
      if (answer && answer.status >= 400 && answer.status < 500 && method !== 'PUT') {
        throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      // If the link was already used, an earlier request of this loop has used it although its answer was lost.
      if (answer?.status === 409) return undefined as T;
      if (Date.now() > until) throw new Error(`${method} ${url} was not answered`);
      await sleep(100);
    }
  }

  const version = await requestUntilAnswered<Document>(
    `${api}/workspaces/${workspace}/configuration-versions`,
    token,
    'POST',
    document('configuration-versions', { 'auto-queue-runs': false }),
  );
  await requestUntilAnswered(String(version.data.attributes['upload-url']), undefined, 'PUT', options.archive);
  const relationships = {
    workspace: { data: { type: 'workspaces', id: workspace } },
    'configuration-version': { data: { type: 'configuration-versions', id: version.data.id } },
  };

  for (let n = 1; options.goesOn(ended.applied ?? 0); n++) {
    const attributes = { 'auto-apply': true, variables: [{ key: 'n', value: String(n) }] };
    const { data: run } = await requestUntilAnswered<Document>(
      `${api}/runs`,
      token,
      'POST',
      document('runs', attributes, relationships),
    );
    const until = Date.now() + patienceMs;
    let status = '';
    while (!finals.includes(status) && Date.now() < until) {
      await sleep(200);
      status = String(
        (await requestUntilAnswered<Document>(`${api}/runs/${run.id}`, token, 'GET')).data.attributes.status,
      );
    }
    if (!finals.includes(status)) stuck.push(`${run.id} ${status}`);
    ended[status] = (ended[status] ?? 0) + 1;
    if (status !== 'applied') continue;
    const outputs = await requestUntilAnswered<Outputs>(
      `${api}/workspaces/${workspace}/current-state-version-outputs`,
      token,
      'GET',
    );
    if (outputs.data.find(({ attributes: { name } }) => name === 'n')?.attributes.value !== n) lost.push(run.id);
  }
  return { workspace, ended, lost, stuck };
}
