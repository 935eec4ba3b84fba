import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Dialog } from '../../design/dialog';
import { SelectField } from '../../design/field';
import { Form } from '../../design/form';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import type { Mount } from '../mounts';
import { encodedPath } from '../reads';
import { valuesAt } from './values';

interface Wrapped {
  readonly wrap_info: { readonly token: string; readonly ttl: number; readonly creation_time: string };
}

const times = [
  { value: '15m', label: '15 minutes' },
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '1 day' },
  { value: '72h', label: '3 days' },
];

/** Creates a link that shows the secret only once. If someone else opened it first, the recipient sees this. */
export function ShareOnce({
  mount,
  path,
  version,
  onClose,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly version: number | undefined;
  readonly onClose: () => void;
}) {
  const { transport } = useSession();
  const [ttl, setTtl] = useState('1h');
  const wrap = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      const query = version === undefined ? '' : `?version=${version}`;
      const address = `/v1/${encodedPath(valuesAt(mount, path))}${query}`;
      return (await transport.call<Wrapped>('GET', address, undefined, { 'X-Service-Wrap-TTL': ttl })).wrap_info;
    },
  });
  const wrapped = wrap.data;
  return (
    <Dialog title="Share once" onClose={onClose}>
      {wrapped === undefined ? (
        <Form layout="dialog" action="Create link" change={wrap} onSend={() => wrap.mutate()} onBack={onClose}>
          <p className="second">
            Creates a link that shows this secret as it is now, once, to the first person who opens it. They need no
            account.
          </p>
          <SelectField label="Expires after" value={ttl} onChange={setTtl} options={times} />
        </Form>
      ) : (
        <div className="stack">
          <p>
            Send this link to one person. Expires <Time at={Date.parse(wrapped.creation_time) + wrapped.ttl * 1000} />,
            or when it was opened.
          </p>
          <div className="code-block">
            <Copied text={`${location.origin}/ui/unwrap#${wrapped.token}`} what="link" />
          </div>
          <p className="second small">
            Or unwrap it by command: <code>keystead unwrap {wrapped.token}</code>
          </p>
          <div className="row end">
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
