import { Command as Menu } from 'cmdk';
import { useEffect, useRef } from 'react';

/** Something that the palette can do. */
export interface Command {
  readonly label: string;
  readonly group: string;
  readonly run: () => void;
}

/** All that can be reached, by a few letters of its name. */
export function Palette({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const groups = [...new Set(commands.map(({ group }) => group))];
  return (
    <dialog ref={element} className="dialog palette" aria-label="Search and commands" onClose={onClose}>
      <Menu label="Search and commands">
        <Menu.Input placeholder="Where to, or what?" autoFocus />
        <Menu.List>
          <Menu.Empty>Nothing has that name.</Menu.Empty>
          {groups.map((group) => (
            <Menu.Group key={group} heading={group}>
              {commands
                .filter((command) => command.group === group)
                .map(({ label, run }) => (
                  <Menu.Item
                    key={label}
                    onSelect={() => {
                      onClose();
                      run();
                    }}
                  >
                    {label}
                  </Menu.Item>
                ))}
            </Menu.Group>
          ))}
        </Menu.List>
      </Menu>
    </dialog>
  );
}
