import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../design/button';
import { counted } from '../../design/counted';
import { Dialog } from '../../design/dialog';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { lengthOf } from '../../design/time';
import { type TtlChoice, TtlField } from '../engines/ttl-field';
import { useMay } from '../may';
import { useChange } from '../reads';

const path = 'sys/leases/renew';
const increments: readonly TtlChoice[] = [
  ['', 'The default TTL'],
  ['30m', '30 minutes'],
  ['1h', '1 hour'],
  ['12h', '12 hours'],
  ['24h', '1 day'],
];

interface Renewed {
  readonly lease_id: string;
  readonly lease_duration: number;
  readonly warnings?: readonly string[] | null;
}

/** Renews the chosen leases for a chosen time, and shows the time that the service granted. */
export function RenewChosen({ chosen }: { readonly chosen: ReadonlySet<string> }) {
  const may = useMay([path]);
  const [asking, setAsking] = useState(false);
  if (chosen.size === 0) return null;
  const what = `Renew ${counted(chosen.size, 'lease')}`;
  return (
    <>
      <Button icon={RefreshCw} {...may({ path, capabilities: ['update'] })} onClick={() => setAsking(true)}>
        {what}
      </Button>
      {asking ? <Renewal what={what} ids={[...chosen]} onClose={() => setAsking(false)} /> : null}
    </>
  );
}

function Renewal({
  what,
  ids,
  onClose,
}: {
  readonly what: string;
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) {
  const [increment, setIncrement] = useState('');
  const [renewed, setRenewed] = useState<readonly Renewed[]>([]);
  const change = useChange<Renewed>();
  const renew = async () => {
    try {
      const answers: Renewed[] = [];
      for (const lease_id of ids) {
        const body = { lease_id, ...(increment === '' ? {} : { increment }) };
        answers.push(await change.mutateAsync({ method: 'PUT', path, body }));
      }
      setRenewed(answers);
    } catch {
      // The form shows the error.
    }
  };
  if (renewed.length > 0) return <Granted renewed={renewed} onClose={onClose} />;
  return (
    <FormDialog title={what} action={what} change={change} onSend={() => void renew()} onBack={onClose}>
      <TtlField
        label="Valid for"
        choices={increments}
        value={increment}
        onChange={setIncrement}
        hint="From now on, and at most until the maximum TTL."
      />
    </FormDialog>
  );
}

function Granted({ renewed, onClose }: { readonly renewed: readonly Renewed[]; readonly onClose: () => void }) {
  const warnings = new Set(renewed.flatMap(({ warnings }) => warnings ?? []));
  const spans = new Set(renewed.map(({ lease_duration }) => lengthOf(lease_duration * 1000)));
  return (
    <Dialog title={renewed.length === 1 ? 'Lease renewed' : `${renewed.length} leases renewed`} onClose={onClose}>
      <p>
        {renewed.length === 1 ? 'It is' : 'They are'} valid for {[...spans].join(', ')} from now.
      </p>
      {[...warnings].map((text) => (
        <Notice key={text} tone="amber">
          {text}
        </Notice>
      ))}
      <div className="row end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
