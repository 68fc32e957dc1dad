import type { Path } from '../../edits/run.ts';
import type { Conversion } from './convert.ts';

/** An edit of the objects at a path. */
export interface PlacedEdit<Edit> {
  readonly in: Path;
  readonly edit: Edit;
  /** The member that a description has to show; undefined for an edit that applies whether or not it does. */
  readonly of: Path | undefined;
}

/** Makes edits of the schema of an object, and of its examples. */
export interface SchemaEdits<Edit> {
  /** True where the rules of a request leave out members, which V1 listed in its responses. */
  readonly leavesOut: boolean;
  /** Wraps a body in an object with this member. */
  wrap(member: string): Edit;
  rename(from: string, to: string): Edit;
  /** Gives the member `from` another schema and other values, under the name `to`. */
  reshape(from: string, to: string, shape: Reshape): Edit;
  convert(member: string, conversion: Conversion): Edit;
  /** Gives a member the schema of what a conversion without an inverse takes; its values stay. */
  loosen(member: string, conversion: Conversion): Edit;
  /** Replaces the listed values of a member; `values` is by the old value. */
  map(member: string, values: ReadonlyMap<unknown, readonly unknown[]>): Edit;
  add(member: string, schema: Readonly<Record<string, unknown>>): Edit;
  /** Adds the schema and the values of a member behind it, under another name. */
  alias(member: string, as: string): Edit;
  /** Puts texts in the place of members. */
  replace(members: readonly string[], texts: readonly string[]): Edit;
  remove(members: readonly string[]): Edit;
  /** Removes the member at a path, and the objects that it leaves empty. */
  removeAt(path: Path): Edit;
  move(from: Path, to: Path): Edit;
  copy(from: Path, to: Path): Edit;
  /** Brings members of a sub-object, or all, out to the object around it; with `keeps` they stay in it as well. */
  bringOut(under: string, members: readonly string[] | undefined, keeps: boolean): Edit;
  /** Lets an object lack a member. */
  allowAbsent(member: string): Edit;
  /** Lets a member be null. */
  allowNull(member: string): Edit;
  /** Lets an object have members that its schema does not name. */
  allowOthers(): Edit;
}

/** The schema and the values of a member in another shape; `follow` leads from a reference to its schema. */
export interface Reshape {
  /** Equal for those that do the same: as JSON. */
  readonly key: unknown;
  readonly schema: (schema: unknown, follow: (schema: unknown) => unknown) => unknown;
  readonly value: (value: unknown) => unknown;
}
