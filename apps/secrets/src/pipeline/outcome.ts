import type { Envelope } from '@keystead/envelope';
import type { StreamSink } from '../sdk/reply';

/** What a request came to: everything the HTTP edge needs to answer it. */
export interface Outcome {
  readonly status: number;
  /** Enveloped answers. */
  readonly envelope?: Envelope;
  readonly injected?: boolean;
  /** Bare answers: text and bytes as they are, anything else as JSON. */
  readonly bare?: unknown;
  readonly contentType?: string;
  /** The body goes on: see `RawReply`. */
  readonly stream?: (sink: StreamSink) => () => void;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of an envelope that was stored earlier. */
  readonly stored?: string;
}
