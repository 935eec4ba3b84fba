import { Upload } from 'lucide-react';
import { useRef } from 'react';
import { Button } from './button';

/** A button that selects a file. */
export function FileButton({
  children,
  accept,
  onFile,
}: {
  readonly children: string;
  readonly accept?: string;
  readonly onFile: (file: File) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={children}
        accept={accept}
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file !== undefined) onFile(file);
          target.value = '';
        }}
      />
      <Button small kind="quiet" icon={Upload} onClick={() => input.current?.click()}>
        {children}
      </Button>
    </>
  );
}
