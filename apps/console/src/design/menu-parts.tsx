import { Menu as Base } from '@base-ui/react/menu';
import { Check, type LucideIcon } from 'lucide-react';
import type { ReactElement, ReactNode } from 'react';
import { useLayer } from './layer';

export interface MenuProps {
  readonly button: ReactElement<Record<string, unknown>>;
  /** The menu is as wide as its button. */
  readonly wide?: boolean;
  readonly side?: 'bottom' | 'top';
  readonly children: ReactNode;
}

/** See `Menu` in `menu.tsx`, which loads this module when the user first hovers over or focuses the button. */
export function Menu({ button, wide, side = 'bottom', opensAtOnce, children }: MenuProps & { opensAtOnce: boolean }) {
  const layer = useLayer();
  return (
    <Base.Root modal={false} defaultOpen={opensAtOnce}>
      <Base.Trigger render={button} />
      <Base.Portal container={layer}>
        <Base.Positioner className="popup-place" side={side} align={wide ? 'start' : 'end'} sideOffset={4}>
          <Base.Popup className={wide ? 'popup menu as-wide' : 'popup menu'}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export interface MenuItemProps {
  readonly icon?: LucideIcon;
  readonly danger?: boolean;
  readonly onClick?: () => void;
  /** A link that the item opens, instead of an action. */
  readonly link?: ReactElement;
  readonly children: ReactNode;
}

export function MenuItem({ icon: Shape, danger, onClick, link, children }: MenuItemProps) {
  const inside = (
    <>
      {Shape === undefined ? null : <Shape size={16} aria-hidden="true" />}
      {children}
    </>
  );
  const className = danger ? 'item danger' : 'item';
  return link === undefined ? (
    <Base.Item className={className} onClick={onClick}>
      {inside}
    </Base.Item>
  ) : (
    <Base.LinkItem className={className} closeOnClick render={link}>
      {inside}
    </Base.LinkItem>
  );
}

export interface MenuGroupProps {
  readonly label: string;
  readonly children: ReactNode;
}

export function MenuGroup({ label, children }: MenuGroupProps) {
  return (
    <Base.Group>
      <Base.GroupLabel className="group-label">{label}</Base.GroupLabel>
      {children}
    </Base.Group>
  );
}

export const MenuRule = () => <Base.Separator className="rule" />;

export interface MenuChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly icon?: LucideIcon }[];
  readonly onChange: (value: Value) => void;
}

export function MenuChoice<Value extends string>({ label, value, options, onChange }: MenuChoiceProps<Value>) {
  return (
    <Base.RadioGroup value={value} onValueChange={onChange}>
      <Base.GroupLabel className="group-label">{label}</Base.GroupLabel>
      {options.map(({ value: one, label, icon: Shape }) => (
        <Base.RadioItem key={one} className="item" value={one} closeOnClick>
          {Shape === undefined ? null : <Shape size={16} aria-hidden="true" />}
          {label}
          <Base.RadioItemIndicator className="end">
            <Check size={14} aria-hidden="true" />
          </Base.RadioItemIndicator>
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  );
}
