import { Command as Menu } from 'cmdk';
import type { LucideIcon } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useModal } from '../design/dialog';

/** An entry of the palette. */
export interface Command {
  readonly label: string;
  readonly icon?: LucideIcon;
  readonly group: string;
  /** Where the object is, to distinguish entries with the same name. */
  readonly of?: string;
  /** Whether the service found the entry, so that its label need not contain the text. */
  readonly isMatch?: boolean;
  readonly run: () => void;
}

/** Searches the service for objects by a part of their name. */
export type Find = (text: string) => Promise<readonly Command[]>;

/**
 * Ranks entries whose names contain the text; names that begin with it come first. Letters that are spread over a name
 * do not match, because Enter opens the first entry.
 */
function rank(_value: string, text: string, [label = '']: string[] = []): number {
  const at = label.toLowerCase().indexOf(text.trim().toLowerCase());
  return at < 0 ? 0 : at === 0 ? 1 : 0.5;
}

/** Wait for a pause in typing before asking the service. */
const pauseMs = 200;

/** The command palette: finds pages, commands and objects by a part of their name. */
export function Palette({
  commands: pageCommands,
  find,
  onClose,
  takeTyped,
}: {
  readonly commands: readonly Command[];
  readonly find?: Find | undefined;
  readonly onClose: () => void;
  /** Returns the text that was typed before the field of the palette had the focus. */
  readonly takeTyped: () => string;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  useModal(element);
  useEffect(() => {
    // Set the focus now, because the menu around this field also moves the focus when it opens.
    element.current?.querySelector('input')?.focus();
    setText(takeTyped());
  }, [takeTyped]);
  const [found, setFound] = useState<readonly Command[]>([]);
  useEffect(() => {
    if (find === undefined || text.trim() === '') return setFound([]);
    let isLate = false;
    const timer = setTimeout(() => {
      const answer = find(text.trim()).catch((): readonly Command[] => []);
      void answer.then((commands) => isLate || setFound(commands));
    }, pauseMs);
    return () => {
      isLate = true;
      clearTimeout(timer);
    };
  }, [text, find]);
  const commands = [...pageCommands, ...found];
  const groups = [...new Set(commands.map(({ group }) => group))];
  return (
    <dialog ref={element} className="dialog palette" aria-label="Search and commands" onClose={onClose}>
      <Menu label="Search and commands" filter={rank}>
        <Menu.Input placeholder="Search, or go to …" value={text} onValueChange={setText} autoFocus />
        <Menu.List>
          <Menu.Empty>No results.</Menu.Empty>
          {groups.map((group) => (
            <Menu.Group key={group} heading={group}>
              {commands
                .filter((command) => command.group === group)
                .map(({ label, icon: Shape, of, isMatch, run }) => (
                  <Menu.Item
                    key={`${of} ${label}`}
                    value={`${label} · ${of ?? ''} · ${group}`}
                    keywords={[isMatch ? text : label]}
                    onSelect={() => {
                      onClose();
                      run();
                    }}
                  >
                    {Shape === undefined ? null : <Shape size={16} aria-hidden="true" />}
                    <span>{label}</span>
                    {of === undefined ? null : <span className="second small">{of}</span>}
                  </Menu.Item>
                ))}
            </Menu.Group>
          ))}
        </Menu.List>
        <p className="palette-foot">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> choose
          </span>
          <span>
            <kbd>Enter</kbd> open
          </span>
          <span>
            <kbd>Esc</kbd> close
          </span>
        </p>
      </Menu>
    </dialog>
  );
}
