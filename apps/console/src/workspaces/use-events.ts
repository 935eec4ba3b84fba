import { useEffect, useRef, useState } from 'react';
import type { Transport } from '../api/transport';
import { useSession } from '../shell/session';
import { withSlot } from './stream-slots';

/** One server-sent event. */
export interface SentEvent {
  readonly event: string;
  readonly data: unknown;
}

const againMs = [1000, 2000, 5000, 10_000];
/**
 * For pages without a slot, because too many pages listen at the same time: how long a page listens after the last
 * event, and after what time it listens again.
 */
const briefMs = 500;
const brieflyAgainMs = 5000;

/**
 * Follows an event stream while the page is visible; a page that was hidden continues where it stopped. If many pages
 * are visible, only some of them hold a stream all the time, and the others listen from time to time. Returns whether
 * it is connected.
 */
export function useEvents(path: string | undefined, tell: (event: SentEvent) => void): boolean {
  const { transport } = useSession();
  const [live, setLive] = useState(false);
  const latest = useRef(tell);
  latest.current = tell;
  useEffect(() => {
    if (path === undefined) return undefined;
    const state: Following = { lastId: undefined, failures: 0, isOver: false };
    let abort: AbortController | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      clearTimeout(timer);
      abort?.abort();
      abort = undefined;
      setLive(false);
    };
    const start = async () => {
      if (document.hidden || state.isOver || abort !== undefined) return;
      const controller = new AbortController();
      abort = controller;
      let isLasting = true;
      try {
        await withSlot((lasting) => {
          isLasting = lasting;
          const tellNow = (event: SentEvent) => latest.current(event);
          const connected = () => {
            setLive(lasting);
            // Some streams do not send events again that happened while the page was disconnected.
            if (!lasting) tellNow({ event: 'missed', data: undefined });
          };
          return follow(transport, path, state, { signal: controller.signal, lasting }, tellNow, connected);
        });
      } catch {
        state.failures += 1;
      }
      if (abort !== controller) return;
      stop();
      const pause = isLasting ? againMs[Math.min(state.failures, 3)] : brieflyAgainMs;
      if (!state.isOver) timer = setTimeout(() => void start(), pause);
    };
    const onVisibility = () => (document.hidden ? stop() : void start());
    document.addEventListener('visibilitychange', onVisibility);
    void start();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      state.isOver = true;
      stop();
    };
  }, [path, transport]);
  return live;
}

interface Following {
  lastId: string | undefined;
  failures: number;
  /** Thrown when the stream has ended or no listener is left. */
  isOver: boolean;
}

async function follow(
  transport: Transport,
  path: string,
  state: Following,
  { signal, lasting }: { readonly signal: AbortSignal; readonly lasting: boolean },
  tell: (event: SentEvent) => void,
  connected: () => void,
): Promise<void> {
  const headers: Record<string, string> = { Accept: 'text/event-stream', 'X-Keystead-Background': '1' };
  if (state.lastId !== undefined) headers['Last-Event-ID'] = state.lastId;
  const request = new Request(new URL(`/api/v2/${path}`, location.origin), { headers, signal });
  const answer = await transport.fetch(request);
  if (answer.status === 404) state.isOver = true;
  if (!answer.ok || answer.body === null) throw new Error(`the stream was answered with ${answer.status}`);
  state.failures = 0;
  connected();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await (lasting ? reader.read() : unlessSilent(reader));
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const read = readBlock(block);
      if (read === undefined) continue;
      if (read.id !== undefined) state.lastId = read.id;
      if (read.event === 'end' || read.event === 'gone') state.isOver = true;
      tell(read);
    }
  }
}

/** The next chunk; if none arrives for some time, the stream is treated as ended. */
async function unlessSilent(reader: ReadableStreamDefaultReader<string>): Promise<{ value?: string; done: boolean }> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<{ done: true }>((resolve) => {
    timer = setTimeout(() => resolve({ done: true }), briefMs);
  });
  try {
    const next = await Promise.race([reader.read(), silence]);
    if (next.done) await reader.cancel();
    return next;
  } finally {
    clearTimeout(timer);
  }
}

function readBlock(block: string): (SentEvent & { id: string | undefined }) | undefined {
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { event: fields.get('event') ?? 'message', id: fields.get('id'), data: JSON.parse(data) };
}
