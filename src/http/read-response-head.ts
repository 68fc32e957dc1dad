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

  endToEnd(): ResponseHead | undefined {
    const { status, lines } = this;
    // Its length is dropped.
    if (status === 204 || !lines.arePlain) return undefined;
    let isWhole = true;
    for (let index = 0; index < lines.uses.length; index += 1) {
      const use = lines.uses[index] ?? 'other';
      if (use === 'trailer' || (use === 'connection' && namesOthers(lines.value(index)))) return undefined;
      isWhole &&= !HOP_BY_HOP_USES.has(use);
    }
    return new EndToEndHead(this, isWhole);
  }
}

class EndToEndHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: FieldLines;
  /** True when all fields go on. */
  private readonly isWhole: boolean;

  constructor({ status, reason, lines }: ReadResponseHead, isWhole: boolean) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
    this.isWhole = isWhole;
  }

  get headers(): HeaderList {
    const { fields } = this.lines;
    return this.isWhole ? fields : endToEnd(fields, true);
  }

  get fieldText(): string | undefined {
    return this.lines.kept((use) => !HOP_BY_HOP_USES.has(use));
  }
}
