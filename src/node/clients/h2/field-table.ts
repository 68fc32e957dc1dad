import { STATIC_FIELDS } from './static-fields.ts';

/** A field that a block may refer to by its index. */
export interface TableField {
  readonly name: string;
  readonly value: string;
  /** False for a field that makes its message malformed. */
  readonly isValid: boolean;
}

/** Bytes of the fields that a client may have the gateway remember: the value without a setting of it (RFC 9113 §6.5.2). */
export const TABLE_BYTES = 4096;
/** Bytes that a field takes in the table besides its characters (RFC 7541 §4.1). */
const FIELD_BYTES = 32;

const staticFields: readonly TableField[] = STATIC_FIELDS.map(([name, value]) => ({
  name,
  value,
  isValid: true,
}));

/** The fields that the requests of one connection refer to by index (RFC 7541 §2.3). */
export class FieldTable {
  /** The oldest field first; those before `first` are forgotten. */
  private fields: TableField[] = [];
  private first = 0;
  private bytes = 0;
  private limit = TABLE_BYTES;

  /** The field with an index; undefined where there is none. */
  at(index: number): TableField | undefined {
    if (index <= staticFields.length) return staticFields[index - 1];
    const at = this.fields.length - (index - staticFields.length);
    return at < this.first ? undefined : this.fields[at];
  }

  /** Adds a field, and forgets the oldest ones that have no room beside it (RFC 7541 §4.4). */
  add(field: TableField): void {
    const bytes = bytesOf(field);
    this.forget(this.limit - bytes);
    if (bytes > this.limit) return;
    this.fields.push(field);
    this.bytes += bytes;
  }

  /** Changes the bytes that fields may take; false for more than the gateway allows (RFC 7541 §6.3). */
  resize(limit: number): boolean {
    if (limit > TABLE_BYTES) return false;
    this.limit = limit;
    this.forget(limit);
    return true;
  }

  /** Forgets the oldest fields until the others take no more than `bytes`. */
  private forget(bytes: number): void {
    while (this.bytes > Math.max(0, bytes)) {
      const oldest = this.fields[this.first];
      if (oldest === undefined) return;
      this.bytes -= bytesOf(oldest);
      this.first += 1;
    }
    // Rarely, so that forgetting one takes the same time however many there are.
    if (this.first < this.fields.length / 2) return;
    this.fields = this.fields.slice(this.first);
    this.first = 0;
  }
}

function bytesOf({ name, value }: TableField): number {
  return name.length + value.length + FIELD_BYTES;
}
