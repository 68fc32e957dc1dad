import type { VNode } from 'preact';
import type { EntryDetail } from '../../api.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { part } from '../parts/element.ts';

/** Properties of the buttons that copy a request as curl. */
export interface CurlButtonsProps {
  readonly curl: NonNullable<EntryDetail['curl']>;
  readonly announce: (sentence: string) => void;
  /** True where the keys of the page are theirs. */
  readonly hasShortcuts?: boolean;
}

/** Buttons that copy a request as curl: for V1, and for V2 where it was sent there. */
export function curlButtons({ curl, announce, hasShortcuts = false }: CurlButtonsProps): (VNode | false)[] {
  return [
    part(CopyButton, {
      text: curl.v1,
      label: 'Copy curl for V1',
      done: 'Copied: the V1 request as curl.',
      announce,
      ...(hasShortcuts ? { shortcut: 'c' } : {}),
    }),
    curl.v2 !== undefined &&
      part(CopyButton, {
        text: curl.v2,
        label: 'Copy curl for V2',
        done: 'Copied: the V2 request as curl.',
        announce,
        ...(hasShortcuts ? { shortcut: 'Shift+C' } : {}),
      }),
  ];
}
