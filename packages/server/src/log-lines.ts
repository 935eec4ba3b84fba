import pino, { type DestinationStream, type Logger } from 'pino';

/** The destination of a log, and the listeners that get each of its lines. */
export class LogLines implements DestinationStream {
  private readonly followers = new Set<(line: string) => void>();

  constructor(private readonly destination: DestinationStream) {}

  write(line: string): void {
    this.destination.write(line);
    if (this.followers.size > 0) for (const follower of this.followers) follower(line);
  }

  follow(follower: (line: string) => void): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }
}

/**
 * From now on, calls a listener for every line that a logger of `createLogger` or its child writes: with the level,
 * then the text of the line. Returns a function that ends this. The listener must not write to the log.
 */
export function followLog(log: Logger, follower: (line: string) => void): () => void {
  const lines = (log as unknown as { [pino.symbols.streamSym]: unknown })[pino.symbols.streamSym];
  if (!(lines instanceof LogLines)) throw new Error('the logger was not created with createLogger');
  return lines.follow(follower);
}
