/** Buttons and fields that all views share. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../state/api.ts';
import { toast } from '../state/store.ts';
import { Icon, type IconName } from './marks.tsx';

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onPress: () => void;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
}

export function IconButton({ icon, label, onPress, pressed, disabled }: IconButtonProps) {
  return (
    <button
      type="button"
      class="icon-button"
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled === true}
      onClick={onPress}
    >
      <Icon name={icon} />
    </button>
  );
}

export function CopyButton({
  text,
  label,
}: {
  text: string | (() => Promise<string>);
  label: string;
}) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    } catch (error) {
      toast('bad', `Cannot copy: ${messageOf(error)}`);
    }
  };
  return (
    <button type="button" class="small-button" onClick={() => void copy()}>
      <Icon name="copy" />
      {isDone ? 'Copied' : label}
    </button>
  );
}

/** A placeholder with the reason why there is nothing to show. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: ComponentChildren;
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  /** Id of the panel that the tabs change. */
  readonly panel: string;
}

/** Tabs by the ARIA practices: one tab stop, arrow keys between tabs. */
export function Tabs<Name extends string>({
  label,
  tabs,
  chosen,
  onChoose,
  panel,
}: TabsProps<Name>) {
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const place = tabs.findIndex(({ name }) => name === chosen);
    const next = tabs[(place + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.name);
    const list = event.currentTarget as HTMLElement;
    list.querySelectorAll<HTMLElement>('[role=tab]')[tabs.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === chosen}
          aria-controls={panel}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
