import type pg from 'pg';

const READ_ONLY = '25006';

/** Said where a statement, or a connection, would need a server that takes writes. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer';
  readonly code = READ_ONLY;

  constructor() {
    super('the server is a standby and takes no writes');
  }
}

/** What the driver keeps to itself: the messages of the server as they come. */
interface Messages {
  readonly connection: {
    on(message: 'parameterStatus', heard: (said: { parameterName: string; parameterValue: string }) => void): void;
    on(message: 'errorMessage', heard: (said: { code?: string }) => void): void;
  };
}

const standbys = new WeakSet<object>();

/**
 * Notes, before it connects, whether a connection leads to a standby; servers say so by themselves. One that is told to be
 * read-only later is ended: it may stand for a primary that is none any more, and whoever asks next gets another.
 */
export function watchForStandby(client: pg.ClientBase): void {
  const { connection } = client as unknown as Messages;
  connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
    if (parameterName !== 'in_hot_standby') return;
    if (parameterValue === 'on') standbys.add(client);
    else standbys.delete(client);
  });
  connection.on('errorMessage', ({ code }) => {
    if (code === READ_ONLY) (client as pg.Client).end().catch(() => {});
  });
}

/** True when the server of a watched connection is a standby. */
export const isStandby = (client: pg.ClientBase): boolean => standbys.has(client);
