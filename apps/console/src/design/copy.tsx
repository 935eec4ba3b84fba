import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';

/** Copies text. Clears secrets from the clipboard after 30 s, if the browser allows it. */
export function CopyButton({
  text,
  what,
  secret,
}: {
  readonly text: string;
  readonly what: string;
  readonly secret?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    if (secret) {
      setTimeout(() => {
        navigator.clipboard.writeText('').catch(() => undefined);
      }, 30_000);
    }
  };
  const Shape = copied ? Check : Copy;
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => void copy()}
    >
      <Shape size={14} aria-hidden="true" />
      <span className="visually-hidden" role="status">
        {copied ? 'copied' : ''}
      </span>
    </button>
  );
}

/** An id, path or URL in full, with a copy button. */
export function Copied({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <span className="copied">
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
