import { h, type Attributes, type ComponentChildren, type ComponentType, type JSX, type VNode } from 'preact';

type Tags = JSX.IntrinsicElements;

interface DataAttributes {
  readonly [name: `data-${string}`]: string | number | undefined;
}

/** Creates an element of the page; unlike Preact's own `h` it checks the props of each tag. */
export function el<Tag extends keyof Tags>(
  tag: Tag,
  props: (Tags[Tag] & DataAttributes) | null,
  ...children: ComponentChildren[]
): VNode {
  return h<object>(tag, props, ...children);
}

/** Creates a part of the page from a component. */
export function part<Props extends object>(
  component: ComponentType<Props>,
  props: Props & Attributes,
): JSX.Element {
  return h(component, props);
}

/** Joins class names; absent ones are left out. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => typeof name === 'string' && name !== '').join(' ');
}
