/** One server-sent event. */
export interface SentEvent {
  readonly event: string;
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: data of every event
  readonly data: any;
}

/** A stream that is being read. */
export interface Following {
  readonly status: number;
  readonly contentType: string | null;
  readonly events: readonly SentEvent[];
  /** Waits until the events satisfy a condition. */
  until<T>(find: (all: readonly SentEvent[]) => T | undefined | false): Promise<T>;
  /** Resolves when the other side has ended the stream. */
  ended(): Promise<void>;
  leave(): void;
}

const waitMs = 20_000;

/** Reads server-sent events as they come. */
export async function follow(url: string, headers: Record<string, string>): Promise<Following> {
  const abort = new AbortController();
  const answer = await fetch(url, { headers: { Accept: 'text/event-stream', ...headers }, signal: abort.signal });
  const events: SentEvent[] = [];
  let isOver = false;
  let wake = () => {};
  const take = (block: string): void => {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    ) as Record<string, string>;
    if (fields.data !== undefined) events.push({ event: fields.event!, id: fields.id, data: JSON.parse(fields.data) });
  };
  const reading = (async () => {
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const bytes of answer.body!) {
        text += decoder.decode(bytes as Uint8Array, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        blocks.forEach(take);
        wake();
      }
    } catch {
      // The client left, or the node stopped.
    }
    isOver = true;
    wake();
  })();
  return {
    status: answer.status,
    contentType: answer.headers.get('content-type'),
    events,
    async until<T>(find: (all: readonly SentEvent[]) => T | undefined | false): Promise<T> {
      const end = Date.now() + waitMs;
      for (;;) {
        const found = find(events);
        if (found !== undefined && found !== false) return found;
        if (isOver || Date.now() > end)
          throw new Error(`not among the events: ${JSON.stringify(events).slice(0, 2000)}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 200);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    ended: () => reading,
    leave: () => abort.abort(),
  };
}

/** The text of the logs among some events. */
export const logOf = (events: readonly SentEvent[], phase = 'plan'): string =>
  events
    .filter(({ event, data }) => event === 'log' && data.phase === phase)
    .map(({ data }) => data.text)
    .join('');
