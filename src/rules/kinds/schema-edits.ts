import type { Path } from '../../edits/run.ts';
import type { Conversion } from './convert.ts';

/** An edit of the objects at a path. */
export interface PlacedEdit<Edit> {
  readonly in: Path;
  readonly edit: Edit;
  /** The member that a description must contain; undefined for an edit that always applies. */
  readonly of: Path | undefined;
}

/** Makes edits for the schema of an object, and for its examples. */
export interface SchemaEdits<Edit> {
  /** True if the rules of a request leave out members that V1 listed in its responses. */
  readonly leavesOut: boolean;
  /** Wraps a body in an object with this member. */
  wrap(member: string): Edit;
  rename(from: string, to: string): Edit;
  /** Replaces the schema and the values of the member `from`, and renames it to `to`. */
  reshape(from: string, to: string, shape: Reshape): Edit;
  convert(member: string, conversion: Conversion): Edit;
  /** Gives a member the schema of the values that a conversion without an inverse accepts; its values stay. */
  loosen(member: string, conversion: Conversion): Edit;
  /** Replaces the listed values of a member; `values` is by the old value. */
  map(member: string, values: ReadonlyMap<unknown, readonly unknown[]>): Edit;
  add(member: string, schema: Readonly<Record<string, unknown>>): Edit;
  /** Adds the schema and the values of a member after it, under another name. */
  alias(member: string, as: string): Edit;
  /** Replaces members with texts. */
  replace(members: readonly string[], texts: readonly string[]): Edit;
  remove(members: readonly string[]): Edit;
  /** Removes the member at a path, and the objects that become empty. */
  removeAt(path: Path): Edit;
  move(from: Path, to: Path): Edit;
  copy(from: Path, to: Path): Edit;
  /** Moves members of a sub-object, or all, to the surrounding object; with `keeps` they also stay in it. */
  bringOut(under: string, members: readonly string[] | undefined, keeps: boolean): Edit;
  /** Makes a member optional. */
  allowAbsent(member: string): Edit;
  /** Makes a member nullable. */
  allowNull(member: string): Edit;
  /** Allows members that the schema of an object does not name. */
  allowOthers(): Edit;
}

/** The schema and the values of a member in another shape; `follow` resolves a reference to its schema. */
export interface Reshape {
  /** The same for edits with the same effect, as JSON. */
  readonly key: unknown;
  readonly schema: (schema: unknown, follow: (schema: unknown) => unknown) => unknown;
  readonly value: (value: unknown) => unknown;
}
