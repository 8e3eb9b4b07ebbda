/** A modal dialog that restores the focus when it closes. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { change } from '../../state/store.ts';
import { IconButton } from '../controls.tsx';

const close = (): void => change({ dialog: undefined });

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly isWide?: boolean;
}

export function Dialog({ title, children, footer, isWide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide === true ? 'dialog wide' : 'dialog'}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        // A click on the backdrop targets the dialog element itself.
        if (event.target === element.current) close();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <IconButton icon="close" label="Close" onPress={close} />
        </header>
        <div class="dialog-content">{children}</div>
        {footer === undefined ? null : <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}
