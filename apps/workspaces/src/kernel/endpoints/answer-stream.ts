import type { Principal } from '../access/principal';
import type { Answers, Raw } from './endpoint';
import type { EventStream, EventStreams } from './event-streams';

const heartbeatMs = 15_000;
/** The interval at which the service checks whether the caller may still see the watched object. */
const renewMs = 5_000;

/** The parts of a request that a stream uses. */
interface StreamCall<A> {
  readonly principal: Principal;
  readonly env: { readonly streams: EventStreams };
  readonly request: { readonly headers: NodeJS.Dict<string | string[]> };
  /** The caller's current access; undefined as soon as they may no longer see the target. */
  renew(): Promise<A | undefined>;
}

/** The id of the last event that the client received. */
export function lastEventId({ headers }: StreamCall<unknown>['request']): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && /^[\w.-]{1,64}$/.test(id) ? id : undefined;
}

/**
 * Answers with a stream of events that `begin` fills. The stream ends when the client disconnects, when the caller's
 * right or session ends, and when this node stops. Without `Accept: text/event-stream`, the stream contains only the
 * current data: `lasts` is false, and `begin` must call `finish`.
 */
export function eventStream<A>(call: StreamCall<A>, begin: (stream: EventStream, lasts: boolean) => Began<A>): Raw {
  const lasts = String(call.request.headers.accept ?? '').includes('text/event-stream');
  const stream = call.env.streams.begin(call.principal);
  const { renewed, leave } = begin(stream, lasts);
  stream.once('close', leave);
  stream.repeat(heartbeatMs, () => stream.beat());
  stream.repeat(renewMs, () => {
    call.renew().then(
      (access) => (access === undefined ? stream.finish() : renewed(access)),
      () => stream.finish(),
    );
  });
  const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
  return { status: 200, headers, body: stream };
}

/** An open stream. */
export interface Began<A> {
  /** Called from time to time with the caller's current access. */
  renewed(access: A): void;
  leave(): void;
}

/** The answer of a stream, for the API description. */
export const streamAnswers = (description: string): Answers => ({
  200: { description, type: 'text/event-stream', schema: { type: 'string' } },
});
