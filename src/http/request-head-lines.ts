import type { FieldLines } from './field-lines.ts';
import type { FieldUse } from './field-use.ts';
import type { HeaderList } from './header-list.ts';
import { type HeadLimits, HeadReader, type RequestHead } from './request-head.ts';

/** Reads a header section like `readHead`, from lines: texts are only cut of the fields that the gateway uses. */
export function readHeadLines(
  lines: FieldLines,
  limits: HeadLimits,
  trusted: boolean,
  targetBytes: number,
): RequestHead {
  const head = new HeadOfLines(lines, trusted);
  head.read(limits, targetBytes);
  return head;
}

class HeadOfLines extends HeadReader {
  private readonly lines: FieldLines;

  constructor(lines: FieldLines, trusted: boolean) {
    super(trusted);
    this.lines = lines;
  }

  protected get count(): number {
    return this.lines.uses.length;
  }

  protected readFields(count: number): number {
    const { lines } = this;
    let bytes = 0;
    for (let index = 0; index < count; index += 1) {
      const use = lines.uses[index] ?? 'other';
      bytes += lines.bytes(index);
      if (use === 'alias') this.refuseAlias(lines.name(index));
      else if (use !== 'other') this.take(use, lines.value(index));
    }
    return bytes;
  }

  protected forwardedFields(): HeaderList {
    return this.fieldsToForward(this.lines.uses, this.lines.fields);
  }

  protected linesToForward(isKept: (use: FieldUse) => boolean): string | undefined {
    return this.lines.kept((use) => this.isForwarded(use) && isKept(use));
  }
}
