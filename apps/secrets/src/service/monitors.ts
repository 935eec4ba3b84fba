import type { StreamSink } from '../sdk/reply';
import type { LogFormat, LogMonitors } from '../system/sys/node/monitor';

/** How many clients may follow the log of one node at once. */
const most = 8;
/** How much a client may leave unread; later lines are left out, with a notice. */
const mostUnreadBytes = 256 * 1024;
const lookEveryMs = 2000;

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const rank = (level: string): number => levels.indexOf(level);

/** The followers of this node's log, each until it leaves, its token ends, or the node stops. */
export class Monitors implements LogMonitors {
  private readonly closers = new Set<() => void>();

  constructor(
    private readonly log: { readonly level: string },
    /** Passes on each new line of the log. Returns a function that stops this. */
    private readonly lines: (follower: (line: string) => void) => () => void,
  ) {}

  get full(): boolean {
    return this.closers.size >= most;
  }

  follow(level: string, format: LogFormat, isAllowed: () => Promise<boolean>, sink: StreamSink): () => void {
    let dropped = 0;
    const give = (line: string): void => {
      if (rank(line.slice(10, line.indexOf('"', 10))) < rank(level)) return;
      if (sink.unread > mostUnreadBytes) {
        dropped++;
        return;
      }
      if (dropped > 0) sink.write(formatted(gap(dropped), format));
      dropped = 0;
      sink.write(formatted(line, format));
    };
    const previousLevel = this.log.level;
    if (rank(previousLevel) < 0 || rank(level) < rank(previousLevel))
      sink.write(formatted(unwritten(previousLevel), format));
    const unfollow = this.lines(give);
    const look = setInterval(() => {
      isAllowed().then(
        (still) => still || end(),
        () => end(),
      );
    }, lookEveryMs);
    const leave = (): void => {
      unfollow();
      clearInterval(look);
      this.closers.delete(end);
    };
    const end = (): void => {
      leave();
      sink.end();
    };
    this.closers.add(end);
    return leave;
  }

  /** Ends all monitors, because the node stops or has dropped its keys. */
  endAll(): void {
    for (const end of [...this.closers]) end();
  }
}

const warning = (fields: object, msg: string): string =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), name: 'secrets', ...fields, msg })}\n`;
const gap = (lines: number): string => warning({ lines }, 'lines were left out, because they were not read');
const unwritten = (writes: string): string =>
  warning({ writes }, 'this node writes no lines of lower levels than this; change that at sys/loggers');

function formatted(line: string, format: LogFormat): string {
  if (format === 'json') return line;
  const { level, time, name, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${text(value)}`);
  return `${time} [${String(level).toUpperCase()}] ${name}: ${[msg, rest.join(' ')].filter(Boolean).join(': ')}\n`;
}

const text = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value);
