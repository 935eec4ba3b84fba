import type { Keyring } from '@keystead/keyring';
import type { Access } from '../../../../kernel/access/access';
import type { Database } from '../../../../kernel/database/database';
import { eventStream, lastEventId } from '../../../../kernel/endpoints/answer-stream';
import type { Call, Raw, View } from '../../../../kernel/endpoints/endpoint';
import type { EventStream } from '../../../../kernel/endpoints/event-streams';
import { isLogOver, readRange } from '../jobs/logs';
import type { Run } from '../run';
import { runSerializer } from '../serializer';
import { finalStatuses } from '../statuses';
import { type PhaseState, type RunState, watchedRuns } from './watched-run';

/** The maximum number of bytes of a log in one event. */
const windowBytes = 64 * 1024;

/** How far a client has read both logs, in bytes: the id of every event. */
interface LogOffsets {
  plan: number;
  apply: number;
}

const readOf = (id: string | undefined): LogOffsets => {
  const [, plan, apply] = /^p(\d{1,12})-a(\d{1,12})$/.exec(id ?? '') ?? [];
  return { plan: Number(plan ?? 0), apply: Number(apply ?? 0) };
};
const idOf = ({ plan, apply }: LogOffsets): string => `p${plan}-a${apply}`;

/**
 * The number of bytes at the start of a piece that form complete characters. The remaining bytes are sent with the next
 * piece.
 */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

const shownPhase = (phase: PhaseState) => ({
  id: phase.id,
  kind: phase.kind,
  status: phase.status,
  'status-timestamps': phase.timestamps,
  'has-changes': phase.hasChanges === true,
  'resource-additions': phase.additions,
  'resource-changes': phase.changes,
  'resource-destructions': phase.destructions,
  'resource-imports': phase.imports,
  'error-message': phase.errorMessage,
  'log-bytes': phase.logSize,
  'data-hidden-at': phase.hiddenAt?.toISOString() ?? null,
});

/** Sends the changes of one run to one client. */
class Teller {
  private readonly read: LogOffsets;
  private lastSent = '';
  private latest: RunState | undefined;
  private sending = false;

  constructor(
    private readonly stream: EventStream,
    private readonly parts: { readonly db: Database; readonly keyring: Keyring; view: View },
    private readonly lasts: boolean,
    from: string | undefined,
  ) {
    this.read = readOf(from);
    stream.onDemand = () => void this.send();
  }

  renewed(access: Access): void {
    this.parts.view = { ...this.parts.view, access };
  }

  tell(state: RunState | undefined): void {
    if (state === undefined) {
      this.stream.send('gone', {});
      this.stream.finish();
      return;
    }
    this.latest = state;
    void this.send();
  }

  private async send(): Promise<void> {
    if (this.sending || this.latest === undefined) return;
    this.sending = true;
    try {
      await this.sendAll(this.latest);
    } catch {
      // The client reconnects, and continues at the same position.
      this.stream.finish();
    } finally {
      this.sending = false;
    }
  }

  private async sendAll(state: RunState): Promise<void> {
    this.describe(state);
    for (const phase of state.phases) {
      while (this.read[phase.kind] < phase.logSize && !this.stream.isFull && !this.stream.destroyed) {
        if (!(await this.sendLog(phase))) break;
      }
    }
    // The rest of a character may arrive later.
    const mayLack = this.lasts ? 0 : 3;
    const isRead = state.phases.every(({ kind, logSize }) => this.read[kind] + mayLack >= logSize);
    if (!isRead || state !== this.latest) return;
    const isOver = finalStatuses.includes(state.run.status);
    if (isOver) this.stream.send('end', { status: state.run.status }, idOf(this.read));
    if (isOver || !this.lasts) this.stream.finish();
  }

  private describe({ run, phases }: RunState): void {
    const { attributes } = runSerializer.resource(run, this.parts.view);
    const data = {
      id: run.id,
      ...attributes,
      phases: phases.map(shownPhase),
      events: run.eventIds.length,
      comments: run.commentIds.length,
    };
    const text = JSON.stringify(data);
    if (text === this.lastSent) return;
    this.lastSent = text;
    this.stream.send('run', data, idOf(this.read));
  }

  /** Sends a piece of a log. Returns false if it does not contain a complete character yet. */
  private async sendLog({ id, kind, status, logSize, news }: PhaseState): Promise<boolean> {
    const from = this.read[kind];
    const { db, keyring } = this.parts;
    const to = Math.min(logSize, from + windowBytes);
    const bytes = news?.start === from ? news.bytes : await readRange(db, keyring, id, { from, to });
    const isLast = isLogOver(status) && from + bytes.length >= logSize;
    const whole = isLast ? bytes.length : wholeCharacters(bytes);
    if (whole === 0) return false;
    this.read[kind] = from + whole;
    const text = bytes.toString('utf8', 0, whole);
    this.stream.send('log', { phase: kind, offset: from, bytes: whole, text }, idOf(this.read));
    return true;
  }
}

/** Answers with the events of one run. */
export function streamRun({ db, env, access, settings, target, ...call }: Call<string, undefined, Run>): Raw {
  const { edition, aliases, publicUrl, defaultFeatureSet } = env;
  const view: View = { access, edition, aliases, publicUrl, settings, defaultFeatureSet };
  return eventStream({ env, ...call }, (stream, lasts) => {
    const teller = new Teller(stream, { db, keyring: env.keyring, view }, lasts, lastEventId(call.request));
    const leave = env.watches.watch(watchedRuns, target.id, (state) => teller.tell(state));
    return { renewed: (now) => teller.renewed(now), leave };
  });
}
