import type { Access } from '../../../../kernel/access/access';
import { eventStream, lastEventId } from '../../../../kernel/endpoints/answer-stream';
import type { Call, Raw } from '../../../../kernel/endpoints/endpoint';
import type { EventStream } from '../../../../kernel/endpoints/event-streams';
import { readsRun } from '../policy';
import { missedSince, type RunNews, watchedOrganizations } from './watched-run';

/** The runs to watch. */
interface Scope {
  readonly organizationId: string;
  /** If set, only runs of this workspace. */
  readonly workspaceId?: string;
}

class Teller {
  private seen: Set<string> | undefined;

  constructor(
    private readonly stream: EventStream,
    private readonly scope: Scope,
    private access: Access,
  ) {}

  renewed(access: Access): void {
    this.access = access;
  }

  /** From now on, later changes are sent. The client reads the list next, so it will know about earlier changes. */
  start(news: readonly RunNews[]): void {
    this.seen = new Set(news.map(({ id }) => id));
    this.stream.send('ready', {}, news.at(-1)?.id);
  }

  tell(news: readonly RunNews[]): void {
    const { seen } = this;
    if (seen === undefined) return;
    for (const one of news) {
      if (!seen.has(one.id)) this.send(one);
      seen.add(one.id);
    }
    if (seen.size > 10 * news.length + 1000) this.seen = new Set(news.map(({ id }) => id));
  }

  send({ id, runId, status, action, createdAt, workspaceId, projectId, organizationId }: RunNews): void {
    if (this.scope.workspaceId !== undefined && this.scope.workspaceId !== workspaceId) return;
    const workspace = { id: workspaceId, projectId, organizationId };
    if (!readsRun(this.access, { organizationId, workspace })) return;
    const at = createdAt.toISOString();
    this.stream.send('run', { 'run-id': runId, 'workspace-id': workspaceId, status, action, at }, id);
  }
}

/** Answers with the events of runs. */
export function streamList({ db, env, access, ...call }: Call<string, undefined, never>, scope: Scope): Raw {
  const { organizationId } = scope;
  return eventStream({ env, ...call }, (stream, lasts) => {
    const teller = new Teller(stream, scope, access);
    const from = lastEventId(call.request);
    let hasBegun = false;
    const begin = async (news: readonly RunNews[]): Promise<void> => {
      hasBegun = true;
      const missed = from === undefined ? [] : await missedSince({ db, keyring: env.keyring }, organizationId, from);
      for (const one of missed ?? []) teller.send(one);
      if (missed === undefined) stream.send('reset', {});
      teller.start(news);
      if (!lasts) stream.finish();
    };
    const leave = env.watches.watch(watchedOrganizations, organizationId, (news) => {
      if (hasBegun) teller.tell(news ?? []);
      else begin(news ?? []).catch(() => stream.finish());
    });
    return { renewed: (now) => teller.renewed(now), leave };
  });
}
