import type { FieldLines } from './field-lines.ts';
import { HOP_BY_HOP_USES } from './field-use.ts';
import type { HeaderList } from './header-list.ts';
import type { AddedFields, HopFields } from './hop-fields.ts';
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

  forwarded(hop: HopFields): ResponseHead | undefined {
    const { status, lines } = this;
    // Its length is dropped.
    if (status === 204 || !lines.arePlain) return undefined;
    let isWhole = true;
    let hasDate = false;
    for (let index = 0; index < lines.uses.length; index += 1) {
      const use = lines.uses[index] ?? 'other';
      if (use === 'trailer' || (use === 'connection' && namesOthers(lines.value(index)))) return undefined;
      hasDate ||= use === 'date';
      isWhole &&= !HOP_BY_HOP_USES.has(use);
    }
    return new ForwardedHead(this, isWhole, hop.ofResponse(hasDate));
  }
}

class ForwardedHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: FieldLines;
  /** True when all fields go on. */
  private readonly isWhole: boolean;
  private readonly added: AddedFields;

  constructor({ status, reason, lines }: ReadResponseHead, isWhole: boolean, added: AddedFields) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
    this.isWhole = isWhole;
    this.added = added;
  }

  get headers(): HeaderList {
    const { fields } = this.lines;
    return [...(this.isWhole ? fields : endToEnd(fields, true)), ...this.added.fields];
  }

  get fieldText(): string | undefined {
    const kept = this.lines.kept((use) => !HOP_BY_HOP_USES.has(use));
    return kept === undefined ? undefined : kept + this.added.text;
  }
}
