import type { VNode } from 'preact';
import { el } from './element.ts';

/** Properties of a copy button. */
export interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  /** Message after copying. */
  readonly done: string;
  readonly announce: (sentence: string) => void;
  readonly shortcut?: string;
}

/** A button that copies a text to the clipboard and announces it. */
export function CopyButton({ text, label, done, announce, shortcut }: CopyButtonProps): VNode {
  return el(
    'button',
    {
      type: 'button',
      class: 'button',
      'aria-keyshortcuts': shortcut,
      onClick: () =>
        void copyText(text).then((isCopied) =>
          announce(isCopied ? done : 'The browser did not allow copying.'),
        ),
    },
    label,
  );
}

/** Copies a text; true on success. Without TLS, except on localhost, browsers have no clipboard API, only the old command. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea');
  const focused = document.activeElement;
  field.value = text;
  field.className = 'sr-only';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
