import type { FieldLines } from './field-lines.ts';
import { HOP_BY_HOP_USES } from './field-use.ts';
import type { HeaderList } from './header-list.ts';
import { endToEnd, namesOthers } from './hop-by-hop.ts';
import type { ResponseHead } from './response-head.ts';

/** The head of a final response as it was read. Its fields are listed where somebody asks for them. */
export class ReadResponseHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: FieldLines;

  constructor(status: number, reason: string, lines: FieldLines) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
  }

  get headers(): HeaderList {
    return this.lines.fields;
  }

  /** The head without hop-by-hop fields, as the lines that came; undefined where more than these fields change. */
  endToEnd(): ResponseHead | undefined {
    const { status, lines } = this;
    // Its length is dropped.
    if (status === 204) return undefined;
    for (let index = 0; index < lines.uses.length; index += 1) {
      const use = lines.uses[index];
      if (use === 'trailer' || (use === 'connection' && namesOthers(lines.value(index)))) return undefined;
    }
    const fieldText = lines.kept((use) => !HOP_BY_HOP_USES.has(use));
    return fieldText === undefined ? undefined : new EndToEndHead(this, fieldText);
  }
}

class EndToEndHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: FieldLines;
  readonly fieldText: string;

  constructor({ status, reason, lines }: ReadResponseHead, fieldText: string) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
    this.fieldText = fieldText;
  }

  get headers(): HeaderList {
    return endToEnd(this.lines.fields, true);
  }
}
