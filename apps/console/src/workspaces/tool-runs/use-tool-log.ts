import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { useSession } from '../../shell/session';
import { Log } from '../runs/log';

const pollMs = 2500;
/** The bytes that mark the beginning and the end of a complete log. */
const [begin, end] = ['\x02', '\x03'];

/** Reads a growing log in parts until it is complete, and only while the page is visible. */
export function useToolLog(path: string): {
  readonly log: Log;
  readonly isComplete: boolean;
  readonly error: Error | null;
} {
  const { transport } = useSession();
  const [reader] = useState(() => ({ log: new Log(), text: new TextDecoder(), offset: 0 }));
  const { data: isComplete = false, error } = useQuery({
    queryKey: ['tool-log', path, useId()],
    gcTime: 0,
    refetchInterval: ({ state }) => (state.data === true ? false : pollMs),
    queryFn: async () => {
      const answer = await transport.fetch(new Request(`/api/v2/${path}?offset=${reader.offset}`));
      if (!answer.ok) throw new ApiError(answer.status, []);
      const part = new Uint8Array(await answer.arrayBuffer());
      reader.offset += part.length;
      const text = reader.text.decode(part, { stream: true });
      reader.log.append(text.replace(begin, '').replace(end, ''));
      return text.endsWith(end);
    },
  });
  return { log: reader.log, isComplete, error };
}
