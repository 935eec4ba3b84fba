import { Eye, EyeOff } from 'lucide-react';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { Button } from './button';
import { CopyButton } from './copy';

/** How long a revealed value is visible. */
export const shownMs = 30_000;

interface ShownValue {
  readonly which: string | undefined;
  show(which: string | undefined): void;
}
const ShownContext = createContext<ShownValue | undefined>(undefined);

/** Shows at most one of the secret values inside at a time. */
export function ValuesShown({ children }: { readonly children: ReactNode }) {
  const [which, show] = useState<string>();
  const shown = useMemo(() => ({ which, show }), [which]);
  return <ShownContext.Provider value={shown}>{children}</ShownContext.Provider>;
}

/** A masked value; when revealed, it is masked again after 30 s or when another value is revealed. */
export function SecretValue({ name, value }: { readonly name: string; readonly value: string }) {
  const own = useState<string>();
  const around = useContext(ShownContext);
  const [which, show] = around === undefined ? own : [around.which, around.show];
  const visible = which === name;
  useEffect(() => {
    if (!visible) return undefined;
    const timer = setTimeout(() => show(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [visible, show]);
  return (
    <span className="value">
      {visible ? (
        <pre>{value}</pre>
      ) : (
        <>
          <code aria-hidden="true">••••••••••</code>
          <span className="visually-hidden">hidden</span>
        </>
      )}
      <Button
        small
        kind="quiet"
        icon={visible ? EyeOff : Eye}
        label={visible ? `Hide ${name}` : `Reveal ${name}`}
        onClick={() => show(visible ? undefined : name)}
      >
        {visible ? 'Hide' : 'Reveal'}
      </Button>
      <CopyButton text={value} what={name} secret />
    </span>
  );
}
