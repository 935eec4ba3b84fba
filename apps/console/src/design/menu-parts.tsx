import { Menu as Base } from '@base-ui/react/menu';
import { Check } from 'lucide-react';
import { useLayer } from './layer';
import type { MenuChoiceProps, MenuGroupProps, MenuItemProps, MenuProps } from './menu';

/** See `Menu` in `menu.tsx`, which loads this when a pointer or the keyboard first comes near. */
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

export function MenuGroup({ label, children }: MenuGroupProps) {
  return (
    <Base.Group>
      <Base.GroupLabel className="group-label">{label}</Base.GroupLabel>
      {children}
    </Base.Group>
  );
}

export const MenuRule = () => <Base.Separator className="rule" />;

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
