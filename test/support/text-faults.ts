/**
 * A script for a page: the faults of its visible text. Text is cut where a box clips it, unless an ellipsis shows it and a title
 * has the whole; a box that scrolls has all in reach. Two texts are on each other where their lines overlap.
 */
export const textFaults = `(() => {
  const SLACK = 2;
  const faults = new Set();
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.trim();
    const element = node.parentElement;
    if (text === '' || element.closest('.skip, .said, script, noscript, option') !== null) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      const seen = clipped(element, rect, text);
      if (seen !== undefined) lines.push({ text, element, ...seen });
    }
  }
  lines.sort((one, other) => one.top - other.top);
  lines.forEach((one, index) => {
    for (const other of lines.slice(index + 1)) {
      if (other.top >= one.bottom - SLACK) break;
      if (one.element === other.element || one.layer !== other.layer) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Boxes of lines touch; letters of one reach into another when a third of the lower height is shared.
      if (across > SLACK && down > Math.min(one.bottom - one.top, other.bottom - other.top) / 3)
        faults.add('on each other: ' + [one, other].sort((a, b) => a.left - b.left).map(({ text }) => text.slice(0, 60)).join(', '));
    }
  });
  return [...faults];

  /** The part of a line that can be seen, with its layer; undefined when it is scrolled out of sight. */
  function clipped(element, rect, text) {
    let { left, top, right, bottom } = rect;
    let layer = '';
    for (let box = element; box !== null && box !== document.documentElement; box = box.parentElement) {
      const style = getComputedStyle(box);
      // Text for screen readers alone.
      if (style.clipPath !== 'none') return undefined;
      if (style.display === 'inline') continue;
      if (style.position === 'sticky' || style.position === 'fixed') layer += 'above';
      const own = box.getBoundingClientRect();
      const scrollsX = /auto|scroll/.test(style.overflowX);
      const scrollsY = /auto|scroll/.test(style.overflowY);
      const clipsX = style.overflowX !== 'visible';
      const clipsY = style.overflowY !== 'visible';
      const isCutX = clipsX && !scrollsX && (left < own.left - SLACK || right > own.right + SLACK);
      const isCutY = clipsY && !scrollsY && (top < own.top - SLACK * 2 || bottom > own.bottom + SLACK * 2);
      const isTold = style.textOverflow === 'ellipsis' && (box.title !== '' || element.title !== '');
      if (isCutY || (isCutX && !isTold)) faults.add('cut: ' + text.slice(0, 60));
      if (clipsX) [left, right] = [Math.max(left, own.left), Math.min(right, own.right)];
      if (clipsY) [top, bottom] = [Math.max(top, own.top), Math.min(bottom, own.bottom)];
      if (right - left < 1 || bottom - top < 1) return undefined;
    }
    return { left, top, right, bottom, layer };
  }
})()`;
