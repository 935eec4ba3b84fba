import './code-editor.css';
import { useEffect, useId, useRef } from 'react';

/** Matches the tokens of the source text: comments, strings, names before a block or value, and other text. */
const grammar =
  /(#.*|\/\/.*|\/\*[\s\S]*?\*\/)|("(?:[^"\\\n]|\\.)*"?)|\b([A-Za-z_]\w*)(?=\s*(?:[={]|"))|[^#"/\w]+|\w+|[#"/]/g;

/** Source text as tokens, each with its CSS class. */
function tokensOf(text: string): readonly (readonly [string | undefined, string])[] {
  return [...text.matchAll(grammar)].map(([token, comment, quoted, name]) => [
    comment ? 'comment' : quoted ? 'quoted' : name ? 'name' : undefined,
    token,
  ]);
}

const intoSight = (line: HTMLSpanElement | null) => line?.scrollIntoView({ block: 'nearest' });

/** An editor with line numbers; marks the line with the error and moves the cursor there. */
export function CodeEditor({
  label,
  value,
  onChange,
  wrongLine,
  shownLine,
  hint,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The line with an error. */
  readonly wrongLine?: number | undefined;
  readonly hint?: string | undefined;
  /** The line that the address points to. */
  readonly shownLine?: number | undefined;
}) {
  const id = useId();
  const text = useRef<HTMLTextAreaElement>(null);
  const lines = value.split('\n');
  useEffect(() => {
    const area = text.current;
    if (wrongLine === undefined || area === null) return;
    const before = area.value.split('\n').slice(0, wrongLine - 1);
    const begin = before.reduce((sum, line) => sum + line.length + 1, 0);
    area.focus();
    area.setSelectionRange(begin, begin + (area.value.split('\n')[wrongLine - 1]?.length ?? 0));
  }, [wrongLine]);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="editor">
        <div className="editor-lines" aria-hidden="true">
          {lines.map((_, index) => (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: a line has no key except its number
              key={index}
              ref={index + 1 === shownLine ? intoSight : undefined}
              className={index + 1 === wrongLine ? 'wrong' : index + 1 === shownLine ? 'shown' : ''}
            >
              {index + 1}
            </span>
          ))}
        </div>
        <div className="editor-text">
          <pre aria-hidden="true">
            {tokensOf(value).map(([kind, token], index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a token has no key except its index
              <span key={index} className={kind}>
                {token}
              </span>
            ))}
            {'\n'}
          </pre>
          <textarea
            id={id}
            ref={text}
            value={value}
            rows={Math.max(12, lines.length + 1)}
            wrap="off"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            aria-invalid={wrongLine !== undefined}
            aria-describedby={hint === undefined ? undefined : `${id}-more`}
            onChange={(event) => onChange(event.target.value)}
          />
        </div>
      </div>
      {hint === undefined ? null : (
        <span id={`${id}-more`} className="small second">
          {hint}
        </span>
      )}
    </div>
  );
}

/** The line number in an error message, if there is one. */
export const lineIn = (message: string): number | undefined => {
  const [, line] = /(?:line |At |:)(\d+)(?::\d+)?/.exec(message) ?? [];
  return line === undefined ? undefined : Number(line);
};
