import type { FieldLines } from './field-lines.ts';
import type { HeaderList } from './header-list.ts';
import type { HopFields } from './hop-fields.ts';

/** The head of a final response (RFC 9110 §15). */
export interface ResponseHead {
  readonly status: number;
  /** The reason phrase; undefined for the standard one. */
  readonly reason: string | undefined;
  readonly headers: HeaderList;
  /** The lines that most of the fields come from, where they were read as lines: they can be written again without a second check. */
  readonly lines: FieldLines | undefined;
  /** The lines of all of these fields, in latin1, where they are known: they are checked. */
  readonly fieldText?: string | undefined;
  /**
   * The head without hop-by-hop fields and with those of this hop, as the lines that came; undefined or absent where that is not all
   * there is to change.
   */
  forwarded?(hop: HopFields): ResponseHead | undefined;
}
