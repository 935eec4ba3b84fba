import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { EventStreams } from './event-streams';

it('a stream of events sends nothing after its end', async () => {
  const stream = new EventStreams().begin({ kind: 'user', id: 'user-1' });
  const errors: Error[] = [];
  stream.on('error', (error) => errors.push(error));
  stream.send('run', { status: 'planned' });
  stream.finish();
  stream.send('run', { status: 'applied' });
  stream.beat();
  stream.finish();
  expect(await text(stream)).toBe('retry: 2000\n\nevent: run\ndata: {"status":"planned"}\n\n');
  expect(errors).toEqual([]);
});
