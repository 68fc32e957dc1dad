import type { FieldReceiver } from './field-block.ts';
import { isConnectionField, type SectionLimits, SEPARATORS_BYTES } from './request-section.ts';

/** The trailer section of a request over HTTP/2, from its decoded fields (RFC 9113 §8.1). */
export class H2Trailers implements FieldReceiver {
  readonly fields: string[] = [];
  isMalformed = false;
  private readonly limits: SectionLimits;
  private bytes = 0;

  constructor(limits: SectionLimits) {
    this.limits = limits;
  }

  field(name: string, value: string, isValid: boolean): void {
    if (!isValid || name.startsWith(':') || isConnectionField(name)) this.isMalformed = true;
    this.bytes += name.length + value.length + SEPARATORS_BYTES;
    this.isMalformed ||=
      this.bytes > this.limits.headerBytes || this.fields.length >= this.limits.headerCount * 2;
    if (!this.isMalformed) this.fields.push(name, value);
  }
}
